echo "on purpose" >&2
exit 1
