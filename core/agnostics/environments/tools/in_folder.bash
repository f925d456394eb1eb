# Goes to the folder of the shell (shell.bash), if it is still there.
__shell=$TMPDIR/.shell
if [[ -f $__shell/folder ]]; then
    IFS= read -r -d '' -n 8192 __shell_gone <"$__shell/folder"
    __shell_gone=${__shell_gone%$'\n'}
    cd -- "$__shell_gone" 2>/dev/null && unset -v __shell_gone
fi
