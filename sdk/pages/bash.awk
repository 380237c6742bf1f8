# bash.awk - completion for bash.
# What completes a kind, as an argument of _burn_these.
function source(what) { return what == "file" ? "files" : what == "folder" ? "folders" : what == "stack" ? "stacks" : "nothing" }

END {
  print "# Completion of burn for bash. Made from burn's help texts by sdk/pages; do not edit."
  print "_burn_these() {"
  print "  case $1 in"
  print "    files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;"
  print "    folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$2\") ;;"
  print "    stacks) mapfile -t COMPREPLY < <(compgen -W \"$(burn backends 2>/dev/null |"
  print "      sed -n 's/^  \\([a-z0-9_]*\\)  *\\(backend\\|decorator\\) .*/\\1/p')\" -- \"$2\") ;;"
  print "    nothing) ;;"
  print "    *) mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\") ;;"
  print "  esac"
  print "}"
  print "_burn() {"
  print "  local word=${COMP_WORDS[COMP_CWORD]} options= words=nothing"
  print "  COMPREPLY=()"
  all = ""
  for (i = 1; i <= commands; i++) all = all (i > 1 ? " " : "") command[i]
  printf "  if [[ $COMP_CWORD == 1 ]]; then _burn_these '%s --help --version' \"$word\"; return; fi\n", all
  print "  case \"${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD - 1]}\" in"
  for (i = 1; i <= commands; i++) {
    name = command[i]
    for (j = 1; j <= options[name]; j++)
      if (value[name, j] != "")
        printf "    '%s --%s') _burn_these %s \"$word\"; return ;;\n", name, option[name, j], source(kind(value[name, j], option[name, j]))
  }
  print "  esac"
  print "  case ${COMP_WORDS[1]} in"
  for (i = 1; i <= commands; i++) {
    name = command[i]
    list = ""
    for (j = 1; j <= options[name]; j++) list = list (j > 1 ? " " : "") "--" option[name, j]
    printf "    %s) options='%s'", name, list
    if (words[name] != "") printf " words='%s'", words[name]
    else if (operand[name] != "") printf " words=%s", source(operand[name])
    print " ;;"
  }
  print "  esac"
  print "  if [[ $word == -* ]]; then _burn_these \"$options\" \"$word\"; else _burn_these \"$words\" \"$word\"; fi"
  print "}"
  print "complete -F _burn burn"
}
