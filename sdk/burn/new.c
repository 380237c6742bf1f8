/* new.c - burn new: writes out a program, backend, decorator or kernel pack that builds, from the templates beside this
 * program.
 *
 * A template is a flat folder of text files, a working project under a name of its own (the placeholder). Copying
 * replaces the placeholder by the new name, in file names and identifiers: my_kernels_test.c, burn_my_kernels,
 * MyKernels, MY_KERNELS. */
#include "command.h"
#include "system.h"

#include <burn/file.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX = 32, FILE_BYTES_MAX = 1 << 20, PATH_BYTES = 4096 };

typedef struct Template {
  const char *kind;        /* what the user types */
  const char *language;    /* likewise, after --lang */
  const char *folder;      /* below share/burn/templates */
  const char *placeholder; /* the name to be replaced */
  const char *what;
  const char *then; /* what to run once it is built; "%s" is its name */
  bool is_english;  /* the placeholder is an English word: in comments only "reference_x" and "reference backend" are
                      meant */
} Template;
static const char doctor[] = "BURN_PLUGIN_PATH=b burn doctor";
static const Template templates[] = {
    {"app", "c", "app", "my_app", "program", "b/%s", false},
    {"backend", "c", "backend", "reference", "backend", doctor, true},
    {"backend", "cpp", "backend_cpp", "my_backend", "backend", doctor, false},
    {"backend", "rust", "backend_rust", "my_backend", "backend", doctor, false},
    {"decorator", "c", "decorator", "my_decorator", "decorator", doctor, false},
    {"kernels", "c", "kernels", "my_kernels", "kernel pack", doctor, false},
};
enum { TEMPLATE_COUNT = sizeof templates / sizeof templates[0] };

/* One name in the three ways in which sources write it. */
typedef struct Spelling {
  char lower[NAME_MAX + 1], upper[NAME_MAX + 1], camel[NAME_MAX + 1];
} Spelling;

static Spelling spelling_of(const char *name) {
  Spelling s = {.lower = ""};
  size_t camel = 0;
  bool starts_word = true;
  for (size_t i = 0; name[i] && i < NAME_MAX; i++) {
    s.lower[i] = name[i];
    s.upper[i] = (char)toupper((unsigned char)name[i]);
    if (name[i] != '_') s.camel[camel++] = starts_word ? s.upper[i] : name[i];
    starts_word = name[i] == '_';
  }
  return s;
}

/* -- names ------------------------------------------------------------------------------------ */

static bool is_among(const char *name, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(name, words[i]) == 0) return true;
  }
  return false;
}

/* Words of C, and of C++ for those who include its header there, and what headers and compilers define, cannot stand
 * for a plugin in its source. */
static bool is_keyword(const char *name) {
  /* clang-format off */
  static const char *const words[] = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
      "char", "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "complex",
      "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default",
      "delete", "do", "double", "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern", "false",
      "float", "for", "friend", "goto", "if", "imaginary", "inline", "int", "linux", "long", "main", "mutable",
      "namespace", "new", "noexcept", "noreturn", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
      "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short", "signed",
      "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
      "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "unix", "union", "unsigned", "using",
      "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
  };
  /* clang-format on */
  return is_among(name, words, sizeof words / sizeof words[0]);
}

/* Targets that CMake has itself, with tests, installing or packaging at the latest: a program of that name cannot be
 * configured. A plugin's target has a prefix. */
static bool is_target_of_cmake(const char *name) {
  static const char *const words[] = {"all",        "clean", "codegen", "edit_cache",     "help",         "install",
                                      "preinstall", "test",  "package", "package_source", "rebuild_cache"};
  return is_among(name, words, sizeof words / sizeof words[0]);
}

/* Why `name` cannot be that of a plugin or program; NULL if it can. */
static const char *name_problem(const Template *template, const char *name) {
  static char problem[256];
  const size_t length = strlen(name);
  if (length > NAME_MAX) return "is longer than 32 letters";
  if (!islower((unsigned char)name[0])) return "must start with a letter a-z";
  if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length) return "may have only a-z, 0-9 and _";
  if (name[length - 1] == '_' || strstr(name, "__")) return "may not end with _ or have two of them in a row";
  if (strcmp(name, "burn") == 0 || strncmp(name, "burn_", 5) == 0) return "must not be Burn's own prefix";
  if (is_keyword(name)) return "is a word of C or C++";
  if (strcmp(template->kind, "app") == 0 && is_target_of_cmake(name)) return "is a target that CMake has itself";
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (strcmp(info->name, name) != 0) continue;
    snprintf(problem, sizeof problem, "is taken by %s", info->path);
    return problem;
  }
  return NULL;
}

/* -- replacing -------------------------------------------------------------------------------- */

/* A growing text; `failed` once there was no memory. */
typedef struct Text {
  char *bytes;
  size_t length, capacity;
  bool failed;
} Text;

static void text_add(Text *text, const char *bytes, size_t count) {
  if (text->failed) return;
  if (!text->bytes || text->length + count + 1 > text->capacity) {
    const size_t capacity = (text->length + count + 1) * 2;
    char *more = realloc(text->bytes, capacity);
    text->failed = !more;
    if (!more) return;
    text->bytes = more;
    text->capacity = capacity;
  }
  memcpy(text->bytes + text->length, bytes, count);
  text->length += count;
  text->bytes[text->length] = '\0';
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Length of `old` if the word begins with it and it ends there, or at something that starts a new part of the name. */
static size_t match(const char *word, size_t length, const char *old, bool camel) {
  const size_t size = strlen(old);
  if (length < size || strncmp(word, old, size) != 0) return 0;
  if (length == size) return size;
  return (camel ? isupper((unsigned char)word[size]) : word[size] == '_') ? size : 0;
}

/* One word of the text with the placeholder in it replaced. `prose`: leave the bare lower-case word alone, unless "
 * backend" follows. */
static void add_word(Text *out, const char *word, size_t length, const Spelling *old, const Spelling *new, bool prose) {
  const bool has_prefix = length > 5 && (strncmp(word, "burn_", 5) == 0 || strncmp(word, "BURN_", 5) == 0);
  const size_t skip = has_prefix ? 5 : 0;
  size_t size = match(word + skip, length - skip, old->lower, false);
  const char *by = new->lower;
  if (size == length && prose && strncmp(word + length, " backend", 8) != 0) size = 0;
  if (size == 0 && (size = match(word + skip, length - skip, old->upper, false)) > 0) by = new->upper;
  if (size == 0 && (size = match(word + skip, length - skip, old->camel, true)) > 0) by = new->camel;
  text_add(out, word, skip);
  if (size > 0) text_add(out, by, strlen(by));
  text_add(out, word + skip + size, length - skip - size);
}

/* `prose_in_comments`: see Template.is_english. */
static Text replace(const char *from, const Spelling *old, const Spelling *new, bool prose_in_comments) {
  Text out = {NULL, 0, 0, false};
  bool comment = false;
  while (*from) {
    size_t length = 0;
    while (is_word(from[length])) length++;
    if (length > 0) {
      add_word(&out, from, length, old, new, comment);
      from += length;
      continue;
    }
    if (prose_in_comments && strncmp(from, comment ? "*/" : "/*", 2) == 0) comment = !comment;
    text_add(&out, from++, 1);
  }
  if (!out.bytes) text_add(&out, "", 0);
  return out;
}

/* -- files ------------------------------------------------------------------------------------ */

static bool complain(const char *what, const char *path) {
  fprintf(stderr, "burn new: %s '%s': %s\n", what, path, strerror(errno));
  return false;
}

/* The whole file as a text, malloc'd; NULL after a complaint. */
static char *read_text(const char *path) {
  uint8_t *text = NULL;
  size_t bytes = 0;
  const BurnStatus status = burn_file_read(path, FILE_BYTES_MAX, &text, &bytes);
  if (status == BURN_OK) return (char *)text;
  fprintf(stderr, "burn new: cannot read '%s': %s\n", path, burn_status_message(status));
  return NULL;
}

static bool write_text(const char *path, const Text *text) {
  FILE *file = fopen(path, "wx");
  if (!file) return complain("cannot write", path);
  const bool written = fwrite(text->bytes, 1, text->length, file) == text->length;
  if (fclose(file) == 0 && written) return true;
  return complain("cannot write", path);
}

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), size = strlen(end);
  return length >= size && strcmp(text + length - size, end) == 0;
}

/* -- words that the template needs for itself ------------------------------------------------- */

/* What follows a comment, a text or a character that begins here; `from` if none does. */
static const char *skip_prose(const char *from) {
  if (strncmp(from, "/*", 2) == 0) {
    const char *end = strstr(from + 2, "*/");
    return end ? end + 2 : from + strlen(from);
  }
  if (*from != '"' && *from != '\'') return from;
  const char quote = *from++;
  while (*from && *from != quote) from += *from == '\\' && from[1] ? 2 : 1;
  return *from ? from + 1 : from;
}

/* True if the word stands in the code, outside of comments and texts. */
static bool code_has(const char *code, const char *word) {
  const size_t size = strlen(word);
  while (*code) {
    const char *after = skip_prose(code);
    size_t length = 0;
    while (is_word(after[length])) length++;
    if (length == size && strncmp(after, word, size) == 0) return true;
    code = length > 0 || after > code ? after + length : code + 1;
  }
  return false;
}

typedef struct Use {
  const char *folder, *name;
  bool found;
} Use;

static bool visit_use(void *context, const char *file) {
  Use *use = context;
  char path[PATH_BYTES];
  if (!ends_with(file, ".c") && !ends_with(file, ".h") && !ends_with(file, ".def")) return true;
  char *text = snprintf(path, sizeof path, "%s/%s", use->folder, file) < PATH_BYTES ? read_text(path) : NULL;
  use->found = text && code_has(text, use->name);
  free(text);
  return !use->found;
}

/* From where to where, and which name becomes which. */
typedef struct Copy {
  const char *from, *to;
  Spelling old, new;
  bool is_english, failed;
} Copy;

static bool copy_file(const Copy *copy, const char *name) {
  char from[PATH_BYTES], to[PATH_BYTES];
  Text new_name = replace(name, &copy->old, &copy->new, false), content = {NULL, 0, 0, false};
  const bool fits = !new_name.failed && snprintf(from, sizeof from, "%s/%s", copy->from, name) < PATH_BYTES &&
                    snprintf(to, sizeof to, "%s/%s", copy->to, new_name.bytes) < PATH_BYTES;
  char *text = fits ? read_text(from) : NULL;
  const bool is_c = ends_with(name, ".c") || ends_with(name, ".h") || ends_with(name, ".def");
  if (text) content = replace(text, &copy->old, &copy->new, is_c && copy->is_english);
  bool done = text && !content.failed;
  if (done) {
    done = write_text(to, &content);
  } else if (!fits || text) {
    fprintf(stderr, "burn new: no memory, or a path too long, for '%s'\n", name);
  }
  free(new_name.bytes);
  free(content.bytes);
  free(text);
  return done;
}

/* One file of the folder; `context` is the Copy, whose `failed` is set by a complaint. */
static bool visit_file(void *context, const char *name) {
  Copy *copy = context;
  copy->failed = !copy_file(copy, name);
  return !copy->failed;
}

static bool visit_remove(void *context, const char *name) {
  const char *folder = context;
  char path[PATH_BYTES];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_BYTES) (void)remove(path);
  return true;
}

/* The folder was new or empty, so that what is in it now is half of a template. */
static void discard(const char *folder, bool is_new) {
  (void)system_list_folder(folder, visit_remove, (void *)(uintptr_t)folder);
  if (is_new) (void)remove(folder);
}

static bool copy_folder(Copy *copy) {
  const long count = system_list_folder(copy->from, visit_file, copy);
  if (count < 0) return complain("cannot open the templates", copy->from);
  if (count == 0) fprintf(stderr, "burn new: the template folder '%s' is empty\n", copy->from);
  return count > 0 && !copy->failed;
}

/* share/burn/templates/<folder> beside the folder this program lies in, installed and in a build folder alike. */
static bool template_folder(const Template *template, char *out, size_t bytes) {
  char prefix[PATH_BYTES];
  if (!system_prefix(prefix, sizeof prefix)) return complain("cannot find the folder of", "burn");
  return (size_t)snprintf(out, bytes, "%s/share/burn/templates/%s", prefix, template->folder) < bytes;
}

static bool stop(void *context, const char *name) {
  (void)context;
  (void)name;
  return false;
}

/* A new folder, or one that is empty. */
static bool make_folder(const char *path, bool *is_new) {
  *is_new = system_make_folder(path);
  if (*is_new || (errno == EEXIST && system_list_folder(path, stop, NULL) == 0)) return true;
  if (errno != EEXIST) return complain("cannot make the folder", path);
  fprintf(stderr, "burn new: '%s' exists and is not empty; name another place with --dir\n", path);
  return false;
}

/* -- the command ------------------------------------------------------------------------------ */

/* The template of that kind in that language, in the first of its languages if NULL. */
static const Template *find_template(const char *kind, const char *language) {
  for (size_t i = 0; kind && i < TEMPLATE_COUNT; i++) {
    const bool fits = !language || strcmp(templates[i].language, language) == 0;
    if (fits && strcmp(templates[i].kind, kind) == 0) return &templates[i];
  }
  return NULL;
}

/* Why there is no such template: an unknown kind, or a language that it does not come in. */
static void complain_template(const char *kind, const char *language) {
  const Template *other = find_template(kind, NULL);
  if (!other) {
    BurnGuess guess = burn_guess(kind);
    for (size_t i = 0; i < TEMPLATE_COUNT; i++) burn_guess_add(&guess, templates[i].kind);
    fprintf(stderr, "burn new: there is no template '%s'.%s\n", kind, burn_guess_text(&guess));
    return;
  }
  fprintf(stderr, "burn new: there is no %s template in '%s'; there is:", other->what, language);
  for (size_t i = 0; i < TEMPLATE_COUNT; i++) {
    if (strcmp(templates[i].kind, kind) == 0) fprintf(stderr, " --lang %s", templates[i].language);
  }
  fprintf(stderr, "\n");
}

static void print_next(const Template *template, const char *name, const char *folder) {
  printf("wrote the %s '%s' to %s. Next:\n\n", template->what, name, strcmp(folder, ".") == 0 ? "this folder" : folder);
  if (strcmp(folder, ".") != 0) printf("  cd %s\n", folder);
  printf(
      "  cmake -B b && cmake --build b && ctest --test-dir b --output-on-failure\n"
      "  ");
  printf(template->then, name);
  printf("\n\nREADME.md there says what is in each file.\n");
}

/* Writes it out, into an empty current folder or NAME/ if `folder` is NULL. Returns COMMAND_*. */
static int write_template(const Template *template, const char *name, const char *folder) {
  char from[PATH_BYTES];
  if (!template_folder(template, from, sizeof from)) return COMMAND_FAILED;
  Use use = {from, name, false};
  (void)system_list_folder(from, visit_use, &use);
  if (use.found) {
    fprintf(stderr, "burn new: the name '%s' is a word that the sources of a new %s use for something else\n", name,
            template->what);
    return COMMAND_USAGE;
  }
  if (!folder) folder = system_list_folder(".", stop, NULL) == 0 ? "." : name;
  Copy copy = {from, folder, spelling_of(template->placeholder), spelling_of(name), template->is_english, false};
  bool is_new = false;
  if (!make_folder(folder, &is_new)) return COMMAND_FAILED;
  if (!copy_folder(&copy)) {
    discard(folder, is_new);
    return COMMAND_FAILED;
  }
  print_next(template, name, folder);
  return COMMAND_OK;
}

int command_new(int argc, char **argv) {
  static const char usage[] =
      "usage: burn new app|backend|decorator|kernels NAME [--lang LANG] [--dir DIR]\n"
      "writes out a program or plugin NAME that builds, with its test: into the current folder if that is empty, else "
      "into NAME/";
  const char *positions[2] = {NULL, NULL}, *folder = NULL, *language = NULL;
  const Argument arguments[] = {
      {"lang", ARGUMENT_TEXT, &language, "LANG", "c; a backend also in cpp or rust (c)"},
      {"dir", ARGUMENT_TEXT, &folder, "DIR", "write there instead: a new or an empty folder"}};
  int status;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof arguments[0], positions, 2, &status))
    return status;
  const Template *template = find_template(positions[0], language);
  const char *name = positions[1];
  if (positions[0] && !template) complain_template(positions[0], language);
  if (!template || !name) {
    fprintf(stderr, "%s\n", usage);
    return COMMAND_USAGE;
  }
  const char *problem = name_problem(template, name);
  if (problem) {
    fprintf(stderr, "burn new: the name '%s' %s\n", name, problem);
    return COMMAND_USAGE;
  }
  return write_template(template, name, folder);
}
