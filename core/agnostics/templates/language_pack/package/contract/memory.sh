kept=x
while :; do kept=$kept$kept; done
