# Adds calls of the tracer to the assembly of a program: at the first instruction of each line, from the entry of a
# procedure to its exit, and where a procedure has made room for its variables, which are then filled with a pattern.
/^\t\.cfi_startproc/ { inside = 0; is_new = 1 }
/^\t\.loc / { line = $3 }
/^\tnop/ { line = 0 }
/^\t[a-z]/ && inside && line {
    print "\tpushq\t$" line
    print "\tcall\tagn_line"
    print "\tleaq\t8(%rsp), %rsp" # as a pop that leaves the flags
    line = 0
}
{ print }
is_new && /^\tsubq\t\$[0-9]+, %rsp/ {
    is_new = 0
    size = substr($2, 2)
    sub(/,/, "", size)
    print "\tpushq\t$" size
    print "\tcall\tagn_fill"
    print "\tleaq\t8(%rsp), %rsp"
}
/^\tcall\t__cyg_profile_func_enter/ { inside = 1; is_new = 0; line = 0 }
/^\tcall\t__cyg_profile_func_exit/ { inside = 0 }
