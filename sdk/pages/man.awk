# man.awk - the manual page of one command from table.awk's table: awk -v page=NAME -v version=V. NAME is empty for burn(1).
# Of a text, lines that start with a space or are set in columns stay as they are; the others flow.
BEGIN { FS = "\t" }

function plain(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/'/, "\\(aq", text)
  if (text ~ /^[.]/) text = "\\\\&" text
  return text
}
function title(text) { printf ".SH %s\n", text }
# A call: names of commands and options bold, as they are to be written.
function synopsis(line,    count, part, i, out) {
  count = split(line, part, " ")
  for (i = 1; i <= count; i++)
    out = out (i > 1 ? " " : "") (part[i] ~ /^(burn$|--|[a-z]+$)/ ? "\\fB" plain(part[i]) "\\fR" : plain(part[i]))
  return out
}
function flush_verbatim() {
  if (verbatim) print ".fi"
  if (verbatim) pending = 1
  verbatim = 0
}
function body(line) {
  if (line == "") { flush_verbatim(); pending = started; return }
  started = 1
  if (line ~ /^ / || line ~ /[^ ]   *[^ ].*/ && line ~ /  /) {
    if (!verbatim) print (pending ? ".PP\n" : "") ".nf"
    verbatim = 1
    pending = 0
    print (line ~ /^ / ? "\\&" : "") plain(line)
    return
  }
  flush_verbatim()
  if (pending) print ".PP"
  pending = 0
  print plain(line)
}

$1 == "command" { command[++commands] = $2; summary[$2] = $3; next }
$2 != page { next }
$1 == "usage" { usage[++usages] = $3 }
$1 == "text" { text[++texts] = $3 }
$1 == "option" { option[++options] = $3; value[options] = $4; help[options] = $5 }

END {
  name = page == "" ? "burn" : "burn-" page
  about = page == "" ? "deep learning: its backends, their tests and measurements, and what its files hold" : summary[page]
  printf ".\\\" Made from the help text of burn by sdk/pages; do not edit.\n"
  printf ".TH %s 1 \"\" \"Burn %s\" \"Burn\"\n", toupper(plain(name)), plain(version)
  title("NAME")
  printf "%s \\- %s\n", plain(name), plain(about)
  title("SYNOPSIS")
  for (i = 1; i <= usages; i++) printf "%s%s\n", (i > 1 ? ".br\n" : ""), synopsis(usage[i])
  title("DESCRIPTION")
  for (i = 1; i <= texts; i++) body(text[i])
  flush_verbatim()
  if (page == "") {
    title("COMMANDS")
    for (i = 1; i <= commands; i++) printf ".TP\n.BR burn\\-%s (1)\n%s\n", command[i], plain(summary[command[i]])
  } else {
    title("OPTIONS")
    print "Defaults stand in parentheses."
    for (i = 1; i <= options; i++)
      printf ".TP\n\\fB\\-\\-%s\\fR%s\n%s\n", plain(option[i]), value[i] == "" ? "" : " \\fI" plain(value[i]) "\\fR", plain(help[i])
  }
  title("EXIT STATUS")
  print "0 if all is well, 1 if something is wrong with what was asked about, 2 for a wrong command line."
  title("SEE ALSO")
  if (page != "") printf ".BR burn (1),\n"
  print ".BR burn\\-plugins (7)"
}
