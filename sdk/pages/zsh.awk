# zsh.awk - completion for zsh.
function action(what) { return what == "file" ? "_files" : what == "folder" ? "_files -/" : what == "stack" ? "_burn_stacks" : "" }
function spec(text) { # within brackets of _arguments
  gsub(/\\/, "\\\\", text)
  gsub(/\[/, "\\[", text)
  gsub(/\]/, "\\]", text)
  gsub(/:/, "\\:", text)
  return text
}

END {
  print "#compdef burn"
  print "# Completion of burn for zsh. Made from burn's help texts by sdk/pages; do not edit."
  print "_burn_stacks() {"
  print "  local -a stacks"
  print "  stacks=(${(f)\"$(burn backends 2>/dev/null | sed -n 's/^  \\([a-z0-9_]*\\)  *\\(backend\\|decorator\\) .*/\\1/p')\"})"
  print "  _describe stack stacks"
  print "}"
  print "_burn() {"
  print "  local -a commands"
  print "  commands=("
  for (i = 1; i <= commands; i++) printf "    %s\n", quoted(command[i] ":" summary[command[i]])
  print "  )"
  print "  if (( CURRENT == 2 )); then _describe command commands; return; fi"
  print "  local command=$words[2]"
  print "  shift words"
  print "  (( CURRENT-- ))"
  print "  case $command in"
  for (i = 1; i <= commands; i++) {
    name = command[i]
    printf "    %s) _arguments", name
    for (j = 1; j <= options[name]; j++) {
      text = "--" option[name, j] "[" spec(help[name, j]) "]"
      if (value[name, j] != "") text = text ":" spec(value[name, j]) ":" action(kind(value[name, j], option[name, j]))
      printf " \\\n      %s", quoted(text)
    }
    if (words[name] != "") printf " \\\n      %s", quoted("1:what:(" words[name] ")")
    else if (operand[name] != "") printf " \\\n      %s", quoted("1:" operand[name] ":" action(operand[name]))
    print " ;;"
  }
  print "  esac"
  print "}"
  print "_burn \"$@\""
}
