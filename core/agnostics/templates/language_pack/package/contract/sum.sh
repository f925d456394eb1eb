set -- $(cat)
echo $(($1 + $2))
