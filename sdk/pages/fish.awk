# fish.awk - completion for fish.
function source(what) {
  return what == "file" ? "-r -F" : what == "folder" ? "-x -a '(__fish_complete_directories)'" : what == "stack" ? "-x -a '(__burn_stacks)'" : "-x"
}
function fish_quoted(text) { # fish knows \\ and \' within quotes
  gsub(/\\/, "\\\\", text)
  gsub(/'/, "\\'", text)
  return "'" text "'"
}

END {
  print "# Completion of burn for fish. Made from burn's help texts by sdk/pages; do not edit."
  print "function __burn_stacks"
  print "  burn backends 2>/dev/null | string replace -rf '^  ([a-z0-9_]+) +(backend|decorator) .*' '$1'"
  print "end"
  print "complete -c burn -f"
  for (i = 1; i <= commands; i++)
    printf "complete -c burn -n __fish_use_subcommand -a %s -d %s\n", command[i], fish_quoted(summary[command[i]])
  for (i = 1; i <= commands; i++) {
    name = command[i]
    seen = "complete -c burn -n '__fish_seen_subcommand_from " name "'"
    for (j = 1; j <= options[name]; j++)
      printf "%s -l %s %s-d %s\n", seen, option[name, j],
        value[name, j] == "" ? "" : source(kind(value[name, j], option[name, j])) " ", fish_quoted(help[name, j])
    if (words[name] != "") printf "%s -a %s\n", seen, fish_quoted(words[name])
    else if (operand[name] == "file") printf "%s -F\n", seen
    else if (operand[name] == "folder") printf "%s -a '(__fish_complete_directories)'\n", seen
    else if (operand[name] == "stack") printf "%s -a '(__burn_stacks)'\n", seen
  }
}
