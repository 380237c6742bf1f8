#!/bin/sh
# peer_fake.sh: a peer for the tests that answers as peer_torch.py does, with numbers that are known. It takes 2 s for whatever
# there is, has no kind "mul", cannot "tanh", says in colour that it has no "where", fails at "exp" and ends at "max".
echo "fake 1.0 threads $1 on ${2:-}, ${4:-}"
way=${3:-eager}
while read -r word kind _; do
  case "$word $kind" in
    "case mul") echo missing ;;
    "case tanh") echo "missing it is no $way peer for that" ;;
    "case where") printf 'missing \033[31mnot\there\n' ;;
    "case exp") echo "error exp is not for me" ;;
    "case max") exit 0 ;;
    "case mlp") echo "ready 3.5" ;;
    "case "*) echo "ready nan" ;;
    run*) echo "2 1.5" ;;
    end*) echo ended 3000000 ;;
  esac
done
