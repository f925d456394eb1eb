/* The word lists of Shakespeare, each in alphabetical order. */

#include <stdlib.h>
#include <string.h>

#include "shakespeare.h"

static const char *const character_names[] = {
    "achilles", "adonis", "adriana", "aegeon", "aemilia", "agamemnon", "agrippa", "ajax", "alonso", "andromache",
    "angelo", "antiochus", "antonio", "arthur", "autolycus", "balthazar", "banquo", "beatrice", "benedick",
    "benvolio", "bianca", "brabantio", "brutus", "capulet", "cassandra", "cassius", "christopher sly", "cicero",
    "claudio", "claudius", "cleopatra", "cordelia", "cornelius", "cressida", "cymberline", "demetrius", "desdemona",
    "dionyza", "doctor caius", "dogberry", "don john", "don pedro", "donalbain", "dorcas", "duncan", "egeus",
    "emilia", "escalus", "falstaff", "fenton", "ferdinand", "ford", "fortinbras", "francisca", "friar john",
    "friar laurence", "gertrude", "goneril", "hamlet", "hecate", "hector", "helen", "helena", "hermia", "hermonie",
    "hippolyta", "horatio", "imogen", "isabella", "john of gaunt", "john of lancaster", "julia", "juliet",
    "julius caesar", "king henry", "king john", "king lear", "king richard", "lady capulet", "lady macbeth",
    "lady macduff", "lady montague", "lennox", "leonato", "luciana", "lucio", "lychorida", "lysander", "macbeth",
    "macduff", "malcolm", "mariana", "mark antony", "mercutio", "miranda", "mistress ford", "mistress overdone",
    "mistress page", "montague", "mopsa", "oberon", "octavia", "octavius caesar", "olivia", "ophelia", "orlando",
    "orsino", "othello", "page", "pantino", "paris", "pericles", "pinch", "polonius", "pompeius", "portia", "priam",
    "prince henry", "prospero", "proteus", "publius", "puck", "queen elinor", "regan", "robin", "romeo", "rosalind",
    "sebastian", "shallow", "shylock", "slender", "solinus", "stephano", "thaisa", "the abbot of westminster",
    "the apothecary", "the archbishop of canterbury", "the duke of milan", "the duke of venice", "the ghost",
    "theseus", "thurio", "timon", "titania", "titus", "troilus", "tybalt", "ulysses", "valentine", "venus",
    "vincentio", "viola",
};

static const char *const negative_adjectives[] = {
    "bad", "cowardly", "cursed", "damned", "dirty", "disgusting", "distasteful", "dusty", "evil", "fat",
    "fat-kidneyed", "fatherless", "foul", "hairy", "half-witted", "horrible", "horrid", "infected", "lying",
    "miserable", "misused", "oozing", "rotten", "smelly", "snotty", "sorry", "stinking", "stuffed", "stupid", "vile",
    "villainous", "worried",
};

static const char *const neutral_adjectives[] = {
    "big", "black", "blue", "bluest", "bottomless", "furry", "green", "hard", "huge", "large", "little", "normal",
    "old", "purple", "red", "rural", "small", "tiny", "white", "yellow",
};

static const char *const positive_adjectives[] = {
    "amazing", "beautiful", "blossoming", "bold", "brave", "charming", "clearest", "cunning", "cute", "delicious",
    "embroidered", "fair", "fine", "gentle", "golden", "good", "handsome", "happy", "healthy", "honest", "lovely",
    "loving", "mighty", "noble", "peaceful", "pretty", "prompt", "proud", "reddest", "rich", "smooth", "sunny",
    "sweet", "sweetest", "trustworthy", "warm",
};

static const char *const negative_nouns[] = {
    "bastard", "beggar", "blister", "codpiece", "coward", "curse", "death", "devil", "draught", "famine",
    "flirt-gill", "goat", "hate", "hell", "hog", "hound", "leech", "lie", "microsoft", "pig", "plague", "starvation",
    "toad", "war", "wolf",
};

static const char *const neutral_nouns[] = {
    "animal", "aunt", "brother", "cat", "chihuahua", "cousin", "cow", "daughter", "door", "face", "father", "fellow",
    "granddaughter", "grandfather", "grandmother", "grandson", "hair", "hamster", "horse", "lamp", "lantern",
    "mistletoe", "moon", "morning", "mother", "nephew", "niece", "nose", "purse", "road", "roman", "sister", "sky",
    "son", "squirrel", "stone wall", "thing", "town", "tree", "uncle", "wind",
};

static const char *const positive_nouns[] = {
    "angel", "flower", "happiness", "heaven", "hero", "joy", "king", "kingdom", "lord", "plum", "pony", "rose",
    "summer's day",
};

static const char *const negative_comparatives[] = {
    "punier", "smaller", "worse",
};

static const char *const positive_comparatives[] = {
    "better", "bigger", "fresher", "friendlier", "jollier", "nicer",
};

/* What the benchmark's card has besides; it has no list of adjectives: any other word is one. */
static const char *const negative_nouns_of_benchmark[] = {"beast"};
static const char *const positive_nouns_of_benchmark[] = {"day", "summer", "sun"};

static int compare(const void *word, const void *entry) { return strcmp(word, *(const char *const *)entry); }

#define FIND(word, list) (bsearch(word, list, sizeof list / sizeof *list, sizeof *list, compare) != NULL)

bool is_character_name(const char *name) { return FIND(name, character_names); }

bool find_noun(const char *word, enum polarity *polarity) {
    bool negative = FIND(word, negative_nouns), positive = FIND(word, positive_nouns);
    if (dialect == BENCHMARK) {
        negative = negative || FIND(word, negative_nouns_of_benchmark);
        positive = positive || FIND(word, positive_nouns_of_benchmark);
    }
    *polarity = negative ? NEGATIVE : positive ? POSITIVE : NEUTRAL;
    return negative || positive || FIND(word, neutral_nouns);
}

bool find_adjective(const char *word, enum polarity *polarity) {
    bool negative = FIND(word, negative_adjectives), positive = FIND(word, positive_adjectives);
    *polarity = negative ? NEGATIVE : positive ? POSITIVE : NEUTRAL;
    return negative || positive || FIND(word, neutral_adjectives);
}

bool find_comparative(const char *word, enum polarity *polarity) {
    *polarity = FIND(word, negative_comparatives) ? NEGATIVE : POSITIVE;
    return *polarity == NEGATIVE || FIND(word, positive_comparatives);
}
