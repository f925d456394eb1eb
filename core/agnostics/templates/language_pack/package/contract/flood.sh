while :; do echo "more and more"; done
