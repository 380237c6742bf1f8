# plugins.awk - the parts of burn-plugins(7) that are lists: awk -f plugins.awk -v version=V environment.def options.md burn-plugins.7.in
# puts the variables at @ENVIRONMENT@ and the options of the plugins at @OPTIONS@.
function plain(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/'/, "\\(aq", text)
  return text
}
FILENAME ~ /[.]def$/ && /^VARIABLE\(/ {
  name = $0
  sub(/^VARIABLE\(/, "", name)
  sub(/,.*/, "", name)
  meaning = $0
  sub(/^[^"]*"/, "", meaning)
  sub(/"\)$/, "", meaning)
  environment = environment ".TP\n.B " name "\n" plain(meaning) "\n"
}
FILENAME ~ /[.]md$/ {
  if (/^## /) options = options ".SS " plain(substr($0, 4)) "\n"
  if (/^None[.]$/) options = options "No options.\n"
  if (!/^[|] [a-z_0-9]+ [|]/ || /^[|] option [|]/) next
  gsub(/\\[|]/, "\001") # bars within a cell
  count = split($0, cell, / *[|] */)
  for (i = 1; i <= count; i++) gsub(/\001/, "|", cell[i])
  options = options ".TP\n\\fB" plain(cell[2]) "\\fR=" plain(cell[3]) "\n" plain(cell[6]) (cell[4] == "" ? "" : " (" plain(cell[4]) ")") "\n"
}
FILENAME !~ /[.]in$/ { next }
/^@ENVIRONMENT@$/ { printf "%s", environment; next }
/^@OPTIONS@$/ { printf "%s", options; next }
{ sub(/@VERSION@/, plain(version)); print }
