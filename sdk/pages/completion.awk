# completion.awk - what bash.awk, zsh.awk and fish.awk share: the table of table.awk in arrays, and what may stand in a place.
#
#   command[1..commands], summary[NAME]; for each command: option[NAME, 1..options[NAME]], value[..], help[..] as in the table,
#   words[NAME], the words that may stand first, and operand[NAME], what may stand there else (kind)
BEGIN { FS = "\t" }

# "file", "folder", "stack"; "" for what only its author knows.
function kind(value, name) {
  if (value ~ /^(FILE|PROGRAM|RESULTS[.]CSV)$/) return "file"
  if (value == "DIR") return "folder"
  return value ~ /STACK/ || name ~ /^stacks?$/ ? "stack" : ""
}
function quoted(text) {
  gsub(/'/, "'\\''", text)
  return "'" text "'"
}

$1 == "command" { command[++commands] = $2; summary[$2] = $3 }
$1 == "word" { words[$2] = words[$2] (words[$2] == "" ? "" : " ") $3 }
$1 == "usage" && $2 != "" && operand[$2] == "" { split($3, part, " "); operand[$2] = kind(part[3], "") }
$1 == "option" {
  i = ++options[$2]
  option[$2, i] = $3
  value[$2, i] = $4
  help[$2, i] = $5
}
