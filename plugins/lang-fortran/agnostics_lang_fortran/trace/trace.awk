# Adds calls of the tracer to the assembly of a program: before each line between the entry of a procedure and its exit,
# and where a procedure has made room for its variables, which are then filled with a pattern.
/^\t\.cfi_startproc/ { inside = 0; is_new = 1 }
{ print }
is_new && /^\tsubq\t\$[0-9]+, %rsp/ {
    is_new = 0
    size = substr($2, 2)
    sub(/,/, "", size)
    print "\tpushq\t$" size
    print "\tcall\tagn_fill"
    print "\tleaq\t8(%rsp), %rsp"
}
/^\tcall\t__cyg_profile_func_enter/ { inside = 1; is_new = 0 }
/^\tcall\t__cyg_profile_func_exit/ { inside = 0 }
inside && /^\t\.loc / {
    print "\tpushq\t$" $3
    print "\tcall\tagn_line"
    print "\tleaq\t8(%rsp), %rsp" # as a pop that leaves the flags
}
