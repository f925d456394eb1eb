#: time
print(abs(time() - mtime("snippet.jl")) < 60, " ", Libc.strftime("%Z", time()))
#: measured time
t = time_ns(); sleep(0.02); print(time_ns() - t >= 10^7)
#: timer
wait(Timer(0.01)); print("rang")
#: tasks
c = Channel{Int}(1); @async (sleep(0.01); put!(c, 7)); print(take!(c))
#: process ids
print(getpid() > 1, " ", read(`sh -c 'echo $PPID'`, String) == "$(getpid())\n")
#: seed
using Random; Random.seed!(7); print(rand(3), shuffle(1:9))
#: environment
foreach(println, sort(["$name=$value" for (name, value) in ENV]))
#: environment of a child
foreach(println, sort(filter(line -> !startswith(line, "_="), readlines(`env`))))
#: open files
foreach(file -> println(file, " ", replace(readlink("/proc/self/fd/$file"), r"[0-9]+" => "N")), sort(filter(file -> islink("/proc/self/fd/$file"), readdir("/proc/self/fd"))))
#: threads
println(length(readdir("/proc/self/task")), " ", Threads.nthreads()); foreach(println, filter(startswith("Sig"), readlines("/proc/self/status")))
#: own file
print(read("snippet.jl", String), " ", @__FILE__, " ", PROGRAM_FILE, " ", readdir())
#: names
print(filter(name -> !startswith(string(name), "#"), names(Main, all = true)), " ", length(Base.loaded_modules))
#: arguments
print(ARGS, isinteractive(), pwd(), homedir(), @__MODULE__, tempdir(), Sys.CPU_THREADS, VERSION)
#: temporary file
path, io = mktemp(); write(io, "x"); close(io); print(read(path, String), " ", dirname(path), " ", length(readdir(tempdir())))
#: stdin
print(read(stdin, String))
#: stdin by lines
for line in eachline() println("<", line, ">") end
#: stdin to its end
println(readline()); println(readlines()); print(eof(stdin), repr(readline()))
#: stdin of a child
run(`cat`)
#: a pipe of children
print(read(pipeline(`printf 'b\na\n'`, `sort`), String))
#: exit status
print("partly"); exit(7)
#: exit hook
atexit(() -> print("bye")); print("hello ")
#: error
f(x) = error("on purpose: ", x); f(1)
#: caught
try sqrt(-1) catch error print(error) end; print(try parse(Int, "x") catch error sprint(showerror, error) end)
#: warning
@warn "careful"; println(stderr, "more")
#: syntax
println("before")
x = (1 +
#: end by a signal
redirect_stderr(open("/dev/null", "w")); run(`kill -TERM $(getpid())`); sleep(5); print("alive")
#: interrupt
redirect_stderr(open("/dev/null", "w")); run(`kill -INT $(getpid())`); sleep(5); print("alive")
#: own code
struct Point x::Int; y::Int end
Base.:+(a::Point, b::Point) = Point(a.x + b.x, a.y + b.y)
macro twice(e) quote $(esc(e)); $(esc(e)) end end
@twice println(Point(1, 2) + Point(3, 4)); println(sum(map(p -> p.x, [Point(i, i) for i in 1:9])))
#: numbers
print(big(2)^100, " ", 1 / 3, " ", 1e10, " ", rationalize(0.5), " ", hash("a"), " ", hash(1.5))
#: matrices
using LinearAlgebra; print([4 2; 1 3] \ [1, 2], " ", det([1 2; 3 4]), " ", eigvals([2.0 0; 0 3]))
#: formats
using Printf
@printf("%.2f %5d %s\n", 1.5, 3, "a"); print(match(r"(\d+)", "a12").captures, Dict("b" => 1, "a" => 2), Set([3, 1, 2]))
#: memory
x = [zeros(1000) for _ in 1:1000]; GC.gc(); print(sum(sum, x)); x = nothing; GC.gc(); print(" freed")
#: output in parts
for i in 1:9 print(i); flush(stdout) end; write(stdout, "raw\xff\n"); println(stderr, "end")
#: own functions with names of Julia's
maximum(list, k) = "own"; count(list) = 7; sum(a, b) = a - b; digits(n) = "d"; sort(x) = x; parse(x) = 2; println(x) = print("<", x, ">")
println(maximum([1], 2)); println(count([3])); println(sum(1, 2)); println(digits(3)); println(parse(sort("x")))
#: own names for values and types
readline = 3; split = 4; struct Set end; const string = "s"; text = 5; words = 6; print(readline, split, Set, string, text, words)
#: anonymous functions
print(x -> x, map(y -> y + 1, 1:2), nameof(z -> z), " ", (a -> a)("b"))
