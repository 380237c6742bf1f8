# table.awk - from the help texts of the burn command to a table, one fact a line, with tabs between its columns:
#
#   command NAME SUMMARY            a row of `burn --help`
#   usage   NAME LINE               a line that says how it is called; "" is the name of burn itself
#   text    NAME LINE               a line of what it says about itself
#   option  NAME OPTION VALUE HELP  VALUE is empty for a flag
#   word    NAME WORD               what may stand first: app, backend, .. of `burn new`
#
# Before the text of each command stands a line "@NAME"; before that of burn itself, "@".
BEGIN { OFS = "\t" }

function words(line,    count, part, i, first) {
  if (!sub(/^burn [a-z]+ /, "", line)) return
  first = line
  sub(/ .*/, "", first)
  if (first !~ /^[a-z|]+$/) return
  count = split(first, part, "|")
  for (i = 1; i <= count; i++) print "word", name, part[i]
}

/^@/ { name = substr($0, 2); place = "usage"; next }
place == "usage" && /^(usage:|      ) burn/ {
  line = $0
  sub(/^(usage:|      ) /, "", line)
  explained = line
  sub(/   .*/, "", line) # what a line of usage says about itself belongs to the text
  print "usage", name, line
  if (explained != line) print "text", name, "  " explained
  words(line)
  next
}
place == "usage" { place = "text"; if ($0 == "") next }
/^options \(defaults in parentheses\):$/ { place = "options"; next }
place == "options" {
  if ($0 !~ /^  --/) { print "text", name, $0; next }
  if (substr($0, 25, 1) != " " || length($0) < 26) { # arguments.c sets 22 columns aside for an option and its value
    print "table.awk: burn " name ": an option and its value are too wide: " $0 > "/dev/stderr"
    exit 1
  }
  value = substr($0, 3, 22)
  sub(/^--[a-z-]+ */, "", value)
  sub(/ +$/, "", value)
  print "option", name, substr($1, 3), value, substr($0, 26)
  next
}
name == "" && /^  [a-z]/ { summary = $0; sub(/^  [a-z]+ +/, "", summary); print "command", $1, summary; next }
{ print "text", name, $0 }
