# Makes this bash the shell of the commands before. Standard input is the next command, $2 is "fresh" if what they kept is
# not to be used, and standard error says "started" once the command is all that can still go wrong (shell.py).
#
# The state may be anything, since any command can write it. Nothing of it counts before "started": a caller who misses
# that word runs the command again, in a fresh shell. All is one group, read before an alias can change it, and no
# function, since `declare` would then make local variables.
{
    exec 3>&2 2>/dev/null
    exec >>/dev/stdout # a program that opens /dev/stderr by name writes at the end; what follows must not overwrite it
    IFS= read -r -d '' __shell_command
    __shell=$TMPDIR/.shell
    shopt -s expand_aliases
    if [[ $2 == fresh ]]; then
        command -p rm -rf -- "$__shell"
    elif [[ -e $__shell/state || -L $__shell/state ]]; then
        __shell_pwd=$PWD
        unset -v $(compgen -e) # the state has those that were not unset
        [[ -f $__shell/state && ! -L $__shell/state ]] && source "$__shell/state" >&2
        [[ ${__shell_restored-} == yes ]] || builtin exit 1
        PWD=$__shell_pwd
    fi

    __shell_keep() {
        builtin set +e +t # which would end the next command early
        builtin unset -f __shell_keep
        if ((${#FUNCNAME[@]} > 1)); then __shell_reveal_globals; fi
        builtin unset -f __shell_reveal_globals
        builtin unset -v __shell_command __shell_restored __shell_pwd
        [[ -d $__shell && ! -L $__shell ]] || { command -p rm -f -- "$__shell" && command -p mkdir -- "$__shell"; }
        if [[ -e $__shell/new || -L $__shell/new || -L $__shell/folder || -p $__shell/folder ]]; then
            command -p rm -rf -- "$__shell/new" "$__shell/folder" # a pipe would never be opened
        fi
        {
            builtin shopt -p && builtin declare -f && builtin declare -Fx && builtin declare -p && builtin alias -p &&
                builtin umask -p && builtin set +o && builtin printf '__shell_restored=yes\n'
        } >|"$__shell/new" && command -p mv -fT -- "$__shell/new" "$__shell/state" && builtin pwd >|"$__shell/folder" ||
            builtin printf '\n[the state of the shell could not be kept]\n'
    }

    # Unset the locals of functions that have called `exit`, as often as they hide a global or another local.
    __shell_reveal_globals() {
        local __shell_name __shell_level __shell_depth=${#FUNCNAME[@]}
        while IFS= builtin read -r __shell_name; do
            builtin unset -v "$__shell_name"
        done < <(
            while IFS= builtin read -r __shell_name; do
                if [[ $__shell_name == __shell_* ]]; then continue; fi
                for ((__shell_level = 0; __shell_level < __shell_depth; __shell_level++)); do
                    builtin unset -v "$__shell_name" && builtin declare -p "$__shell_name" >&2 || break
                    builtin printf '%s\n' "$__shell_name"
                done
            done < <(builtin compgen -v)
        )
    }

    builtin set --
    builtin trap '{ __shell_keep; } 2>/dev/null' EXIT
    builtin printf started >&3
    exec 3>&-
    if [[ -v __shell_gone ]]; then builtin printf '[the folder %q is gone; this is %q]\n' "$__shell_gone" "$PWD"; fi
    builtin unset -v __shell_gone
}
