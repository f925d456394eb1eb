#: time
cat(abs(as.numeric(Sys.time()) - file.mtime('snippet.R')[[1]] |> as.numeric()) < 60, format(Sys.time(), '%Z'))
#: measured time
t <- proc.time()[['elapsed']]; Sys.sleep(0.02); cat(proc.time()[['elapsed']] - t >= 0.01)
#: processor time
cat(proc.time()[['user.self']] < 5)
#: process ids
cat(Sys.getpid() > 1, system('echo $PPID', intern = TRUE) == Sys.getpid())
#: seed
set.seed(7); cat(runif(3), sample(10), rnorm(2))
#: no seed
cat(exists('.Random.seed')); x <- runif(1); cat(exists('.Random.seed'))
#: environment
e <- Sys.getenv(); e <- e[!grepl('^R_SESSION', names(e))]; cat(sort(paste(names(e), e)), sep = '\n')
#: environment of a child
cat(sort(grep('R_SESSION|^_=', system('env', intern = TRUE), invert = TRUE, value = TRUE)), sep = '\n')
#: open files
cat(sort(as.integer(list.files('/proc/self/fd'))), length(list.files()), list.files())
#: own file
cat(readLines('snippet.R'), file.size('snippet.R'), file.access('snippet.R', 2))
#: locale
cat(Sys.getlocale(), l10n_info()[['UTF-8']], toupper('äöü'), format(1234.5, big.mark = ','), sort(c('b', 'A', 'a')))
#: arguments
cat(commandArgs(), commandArgs(TRUE), interactive(), getwd(), path.expand('~'))
#: temporary folder
f <- tempfile(); cat('x\n', file = f); cat(dir.exists(tempdir()), readLines(f), file.access(tempdir(), 7), length(list.files(tempdir())), dirname(tempdir()))
#: stdin
x <- readLines(file('stdin')); cat(length(x), x, sep = '|')
#: stdin by lines
f <- file('stdin', 'r'); while (length(l <- readLines(f, 1))) cat('<', l, '>\n', sep = '')
#: scan
x <- scan(file('stdin'), what = '', quiet = TRUE); print(x)
#: own stdin
x <- readLines(stdin(), 1)
this line is read
cat(x)
#: stdin of a child
cat(system('cat', intern = TRUE), sep = '\n')
#: exit status
cat('partly'); quit(status = 7)
#: exit by a finalizer
reg.finalizer(globalenv(), function(e) cat('bye'), onexit = TRUE); cat('hello ')
#: last
.Last <- function() cat('last'); quit(runLast = TRUE)
#: error
f <- function(x) stop('on purpose: ', x); f(1)
#: caught
cat(tryCatch(log(-1), warning = conditionMessage), inherits(try(stop('a'), TRUE), 'try-error'))
#: warnings
for (i in 1:3) warning('number ', i); as.integer('x')
#: syntax
cat('before\n')
x <- (1 +

#: late syntax
cat('before\n')
x <- ) 1
#: no last newline
cat('end')
#: message
message('to stderr'); cat('to stdout'); write('err', stderr())
#: signal
cat('x'); tools::pskill(Sys.getpid(), 15); Sys.sleep(5)
#: abort
cat('x'); tools::pskill(Sys.getpid(), 6); Sys.sleep(5)
#: profile
Rprof('p.out'); for (i in 1:1e5) sqrt(i); Rprof(NULL); cat(file.exists('p.out'))
#: connections
print(nrow(showConnections())); t <- textConnection('a b'); print(scan(t, '', quiet = TRUE)); p <- pipe('echo hi'); print(readLines(p))
#: limits
cat(system('ulimit -a', intern = TRUE), sep = '\n')
#: user
cat(system('id -u', intern = TRUE) >= 30000, Sys.info()[['user']])
#: recursion
f <- function(n) if (n) 1 + f(n - 1) else 0; cat(f(500)); tryCatch(f(1e6), error = function(e) cat('deep'))
#: packages
cat(search(), exists('median'), requireNamespace('tools', quietly = TRUE)); library(splines)
#: parallel
cat(unlist(parallel::mclapply(1:4, function(x) x * x, mc.cores = 2)))
#: options
cat(getOption('digits'), getOption('width'), getOption('encoding'), options('warn')[[1]])
#: memory within
x <- numeric(20e6); x[] <- 1; cat(sum(x))
#: memory beyond
x <- numeric(70e6); x[] <- 1; cat(sum(x))
#: compiled
f <- function(n) { s <- 0; for (i in 1:n) s <- s + i; s }; for (k in 1:5) f(10); cat(f(1e5))
