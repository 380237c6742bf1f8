/* trace_plugin.c - a decorator that shows the ops that pass through it: one line each, or counts with times at the end,
 * or a Chrome trace file (open it in chrome://tracing or Perfetto).
 *
 *   trace              one line per op to stderr, and the totals when the device closes
 *   trace:format=count            totals only
 *   trace:format=chrome,file=out.json    Chrome trace JSON; file defaults to burn-trace.json
 *   trace:file=out.txt            lines and totals to a file
 *
 * Right above a device with times (burn.device), totals and the Chrome trace also have what calls took there.
 *
 * It is also the example of how small a decorator is: what it leaves out of its table is done by the level below, and
 * ops that it has never heard of pass through by construction. */
#include "trace_device.h"

#include <burn/plugin/fused.h>
#include <burn/common/descriptor.h>
#include <burn/common/settings.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* In a mode of fopen: programs that are started do not get the file. */
#if defined(_WIN32)
#define NOT_INHERITED "N"
#else
#define NOT_INHERITED "e"
#endif

enum { FORMAT_TEXT, FORMAT_COUNT, FORMAT_CHROME }; /* as in the row of the option */

typedef struct OpTotal {
  uint64_t calls, nanoseconds;
  uint64_t device_calls, device_nanoseconds; /* whose time on the device is known */
} OpTotal;

typedef struct Trace {
  const BurnHost *host;
  const BurnBackend *next; /* the level below */
  pthread_mutex_t mutex;
  FILE *file;      /* stderr unless the option file= or the Chrome format was given */
  char path[1024]; /* of the file, for messages; longer ones are cut */
  uint32_t format;
  uint64_t events, opened_ns;
  uint64_t written; /* objects of the Chrome record */
  TraceDevice device;
  bool has_device; /* with times of its own */
  char name[64];
  BurnFusedInterface fused; /* what is offered above, and .. */
  BurnFusedInterface below; /* .. the fused runs of the level below; all zero if there are none */
  void *below_self;
  OpTotal totals[BURN_OP_LIMIT]; /* by op; 0: fused runs */
} Trace;

/* "f32[2,3]" */
static void write_desc(FILE *file, const BurnTensorDesc *desc) {
  fprintf(file, "%s[", burn_dtype_name(desc->dtype));
  for (uint32_t i = 0; i < desc->rank; i++) fprintf(file, i ? ",%" PRId64 : "%" PRId64, desc->shape[i]);
  fputc(']', file);
}

static void write_shapes(FILE *file, const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (i > 0) fputs(", ", file);
    if (!call->inputs[i]) {
      fputs("none", file);
      continue;
    }
    const BurnTensorDesc desc = burn_primitive_desc(call->inputs[i]);
    write_desc(file, &desc);
  }
  fputs(" -> ", file);
  for (uint32_t i = 0; call->output_descs && i < call->output_count; i++) {
    if (i > 0) fputs(", ", file);
    write_desc(file, &call->output_descs[i]);
  }
}

static const char *op_name(const Trace *trace, uint32_t op) {
  if (op == BURN_OP_INVALID) return "fused";
  const BurnOpInfo *info = trace->host->op_info(op);
  return info ? info->name : "?";
}

/* A time in units of `unit` nanoseconds with 1 to 3 places, with a point in every locale. */
typedef struct Decimal {
  char text[40];
} Decimal;

static Decimal decimal(uint64_t nanoseconds, uint64_t unit, int places) {
  const uint64_t scale = places == 1 ? 10 : places == 2 ? 100 : 1000;
  const uint64_t parts = (nanoseconds * scale + unit / 2) / unit;
  Decimal result;
  snprintf(result.text, sizeof result.text, "%" PRIu64 ".%0*" PRIu64, parts / scale, places, parts % scale);
  return result;
}

/* What ran: a call, or else a kernel that the level below describes. */
static void write_what(Trace *trace, const BurnOpCall *call, const BurnFusedKernel *kernel) {
  char text[256] = "";
  if (call) {
    write_shapes(trace->file, call);
    return;
  }
  trace->below.describe(trace->below_self, kernel, text, sizeof text - 1); /* its end stays */
  fputs(text, trace->file);
}

/* The mutex is held. */
static void write_event(Trace *trace, const BurnOpCall *call, const BurnFusedKernel *kernel, uint64_t begin,
                        uint64_t end) {
  const uint32_t op = call ? call->op : BURN_OP_INVALID;
  const char *name = op_name(trace, op);
  if (op < BURN_OP_LIMIT) {
    trace->totals[op].calls++;
    trace->totals[op].nanoseconds += end - begin;
  }
  if (trace->format == FORMAT_TEXT) {
    fprintf(trace->file, "trace: %-24s %9s us  ", name, decimal(end - begin, 1000, 1).text);
    write_what(trace, call, kernel);
    fputc('\n', trace->file);
  } else if (trace->format == FORMAT_CHROME) {
    fprintf(trace->file,
            "%s{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%s,\"dur\":%s,\"args\":{\"shapes\":\"",
            trace->written++ ? ",\n" : "", name, decimal(begin - trace->opened_ns, 1000, 3).text,
            decimal(end - begin, 1000, 3).text);
    write_what(trace, call, kernel);
    fputs("\"}}", trace->file);
  }
  trace->events++;
}

/* -- the device's times: a row of their own --------------------------------------------------- */

static uint64_t nanoseconds_of(double seconds) { return seconds > 0 ? (uint64_t)(1e9 * seconds + 0.5) : 0; }

/* The mutex is held. */
static void write_device_time(void *context, uint32_t op, double begin, double seconds) {
  Trace *trace = context;
  if (op < BURN_OP_LIMIT) {
    trace->totals[op].device_calls++;
    trace->totals[op].device_nanoseconds += nanoseconds_of(seconds);
  }
  if (trace->format != FORMAT_CHROME) return;
  fprintf(trace->file, "%s{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":%s,\"dur\":%s}",
          trace->written++ ? ",\n" : "", op_name(trace, op), decimal(nanoseconds_of(begin), 1000, 3).text,
          decimal(nanoseconds_of(seconds), 1000, 3).text);
}

static void name_rows(Trace *trace) {
  if (!trace->has_device || trace->format != FORMAT_CHROME) return;
  static const char *const rows[] = {"host", "device"};
  for (int i = 0; i < 2; i++)
    fprintf(trace->file, "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
            trace->written++ ? ",\n" : "", i + 1, rows[i]);
}

/* -- calls ------------------------------------------------------------------------------------ */

/* A call that has run: on the host from begin to end, on the device between two marks. */
typedef struct Span {
  uint64_t begin, end;
  BurnEvent *before, *after;
} Span;

static Span span_begin(const Trace *trace) {
  BurnEvent *before = burn__trace_device_mark(&trace->device);
  return (Span){.begin = trace->host->now_ns(), .before = before};
}

static void span_end(Trace *trace, Span span, const BurnOpCall *call, const BurnFusedKernel *kernel) {
  span.end = trace->host->now_ns();
  span.after = burn__trace_device_mark(&trace->device);
  pthread_mutex_lock(&trace->mutex);
  write_event(trace, call, kernel, span.begin, span.end);
  burn__trace_device_add(&trace->device, call ? call->op : BURN_OP_INVALID, span.before, span.after);
  pthread_mutex_unlock(&trace->mutex);
}

static BurnStatus BURN_API_CALL trace_submit(void *self, const BurnOpCall *call) {
  Trace *trace = self;
  /* Shapes are read after the call from the call itself, so donated inputs are still the caller's and alive. */
  const Span span = span_begin(trace);
  const BurnStatus status = trace->host->invoke(trace->next, call);
  span_end(trace, span, call, NULL);
  return status;
}

/* -- fused runs: seen as they pass ------------------------------------------------------------ */

static BurnStatus BURN_API_CALL trace_fused_run(void *self, const BurnFusedCall *call) {
  Trace *trace = self;
  const Span span = span_begin(trace);
  const BurnStatus status = trace->below.run(trace->below_self, call);
  span_end(trace, span, NULL, call->kernel);
  return status;
}
static uint32_t BURN_API_CALL trace_fused_role(void *self, const BurnFusedStep *step, const BurnTensorDesc *inputs,
                                               const BurnTensorDesc *output) {
  const Trace *trace = self;
  return trace->below.role(trace->below_self, step, inputs, output);
}
static BurnStatus BURN_API_CALL trace_fused_compile(void *self, const BurnFusedBody *body, BurnFusedKernel **out,
                                                    char *why, uint64_t why_bytes) {
  const Trace *trace = self;
  return trace->below.compile(trace->below_self, body, out, why, why_bytes);
}
static void BURN_API_CALL trace_fused_release(void *self, BurnFusedKernel *kernel) {
  const Trace *trace = self;
  trace->below.release(trace->below_self, kernel);
}
static void BURN_API_CALL trace_fused_describe(void *self, const BurnFusedKernel *kernel, char *text,
                                               uint64_t text_bytes) {
  const Trace *trace = self;
  trace->below.describe(trace->below_self, kernel, text, text_bytes);
}

/* The table of the level below, with run on the way through here. */
static void find_fused(Trace *trace) {
  BurnInterface found;
  if (!burn_common_ask(trace->next, BURN_FUSED_INTERFACE, &found)) return;
  burn_struct_copy(&trace->below, sizeof trace->below, found.table);
  if (!burn_common_is_fused(&trace->below)) return;
  trace->below_self = found.self;
  trace->fused = trace->below;
  trace->fused.role = trace_fused_role;
  trace->fused.compile = trace_fused_compile;
  trace->fused.run = trace_fused_run;
  trace->fused.release = trace_fused_release;
  trace->fused.describe = trace_fused_describe;
}

/* Every other name is the level below's to answer. */
static int32_t BURN_API_CALL trace_get_interface(void *self, const char *name, uint32_t min_version,
                                                 BurnInterface *out) {
  Trace *trace = self;
  if (strcmp(name, BURN_FUSED_INTERFACE) != 0 || trace->fused.struct_size < BURN_FUSED_INTERFACE_MIN_BYTES)
    return trace->next->get_interface(trace->next->self, name, min_version, out);
  if (min_version > trace->fused.version) return 0;
  out->table = &trace->fused;
  out->self = trace;
  return 1;
}

static void write_device_total(const Trace *trace, const OpTotal *total) {
  const uint64_t calls = total->device_calls ? total->device_calls : 1;
  fprintf(trace->file, " %12s %12s", decimal(total->device_nanoseconds, 1000000, 3).text,
          decimal(total->device_nanoseconds, 1000 * calls, 2).text);
}

static void write_totals(const Trace *trace) {
  if (trace->events == 0) return; /* the device did not even open, or nothing was computed */
  const bool timed = trace->has_device;
  fprintf(trace->file, "trace: %-24s %10s %12s %12s%s\n", "op", "calls", "total ms", "mean us",
          timed ? "    device ms    device us" : "");
  uint64_t nanoseconds = 0, on_device = 0;
  for (uint32_t op = 0; op < BURN_OP_LIMIT; op++) {
    const OpTotal *total = &trace->totals[op];
    if (total->calls == 0) continue;
    nanoseconds += total->nanoseconds;
    on_device += total->device_nanoseconds;
    fprintf(trace->file, "trace: %-24s %10" PRIu64 " %12s %12s", op_name(trace, op), total->calls,
            decimal(total->nanoseconds, 1000000, 3).text, decimal(total->nanoseconds, 1000 * total->calls, 2).text);
    if (timed) write_device_total(trace, total);
    fputc('\n', trace->file);
  }
  fprintf(trace->file, "trace: %-24s %10" PRIu64 " %12s", "all", trace->events, decimal(nanoseconds, 1000000, 3).text);
  if (timed) fprintf(trace->file, " %12s %12s", "", decimal(on_device, 1000000, 3).text);
  fputc('\n', trace->file);
  if (trace->device.lost > 0)
    fprintf(trace->file, "trace: %" PRIu64 " calls have no time on the device, as more than %d were under way\n",
            trace->device.lost, TRACE_PENDING);
}

/* Nobody waits for a status any more, so the log says that a file is not whole. */
static void close_file(Trace *trace) {
  char text[sizeof trace->path + 128];
  if (trace->file == stderr) return;
  errno = 0; /* that of an earlier write is gone */
  bool good = ferror(trace->file) == 0;
  good = fclose(trace->file) == 0 && good;
  if (good) return;
  snprintf(text, sizeof text, "file '%s' lacks a part of what was traced: %s", trace->path,
           errno ? strerror(errno) : "a write failed");
  trace->host->log(BURN_LOG_ERROR, "trace", text);
}

static void BURN_API_CALL trace_close(void *self) {
  Trace *trace = self;
  burn__trace_device_close(&trace->device);
  if (trace->format == FORMAT_CHROME) {
    fputs("]}\n", trace->file);
  } else {
    write_totals(trace);
  }
  close_file(trace);
  pthread_mutex_destroy(&trace->mutex);
  trace->host->free(trace, sizeof *trace);
}

/* Not even the format is harmless: chrome makes a file of its own accord. */
#define TRACE_OPTIONS(X)                                                  \
  X(FORMAT, "format", "text|count|chrome", "text", 0,                     \
    "a line per op, totals at the end, or a record for chrome://tracing") \
  X(FILE, "file", "path", "", 0, "where to; else stderr, and burn-trace.json for chrome")

enum { TRACE_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {TRACE_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

static BurnStatus choose_output(Trace *trace, const BurnOptions *options) {
  const BurnHost *host = trace->host;
  const char *values[OPTION_COUNT];
  burn_options_ask(host, options, &options_interface, values);
  const char *format = values[OPTION_FORMAT], *path = values[OPTION_FILE];
  const uint32_t formats = burn_common_word_count(option_rows[OPTION_FORMAT].values);
  trace->format = format ? burn_common_word_index(option_rows[OPTION_FORMAT].values, format) : FORMAT_TEXT;
  if (trace->format == formats)
    return BURN_COMMON_FAIL(host, INVALID_ARGUMENT, "trace", "format=%s is unknown; it is text, count or chrome",
                            format);
  if (!path && trace->format == FORMAT_CHROME) path = "burn-trace.json";
  snprintf(trace->path, sizeof trace->path, "%s", path ? path : "");
  trace->file = path ? fopen(path, "w" NOT_INHERITED) : stderr;
  if (!trace->file) return BURN_COMMON_FAIL(host, IO, "trace", "cannot write file '%s': %s", path, strerror(errno));
  if (trace->format == FORMAT_CHROME) fputs("{\"traceEvents\":[", trace->file);
  return BURN_OK;
}

static BurnStatus BURN_API_CALL trace_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                           uint32_t owner, BurnBackend *out) {
  (void)owner; /* tensors stay those of the decorator below */
  const BurnStatus checked = burn_plugin_check_open(host, out, "trace");
  if (checked != BURN_OK) return checked;
  Trace *trace = host->allocate(sizeof *trace);
  if (!trace) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "trace", "no memory");
  memset(trace, 0, sizeof *trace);
  trace->host = host;
  trace->next = next;
  const BurnStatus status = choose_output(trace, options);
  if (status != BURN_OK) {
    host->free(trace, sizeof *trace);
    return status;
  }
  pthread_mutex_init(&trace->mutex, NULL);
  trace->opened_ns = host->now_ns();
  snprintf(trace->name, sizeof trace->name, "trace on %s", next->name);
  out->self = trace; /* what is left out here is done by the level below */
  out->name = trace->name;
  find_fused(trace);
  trace->has_device = burn__trace_device_open(&trace->device, next, write_device_time, trace);
  name_rows(trace);
  out->submit = trace_submit;
  out->get_interface = trace_get_interface;
  out->close = trace_close;
  return BURN_OK;
}

static const BurnDecoratorInterface decorator = {
    .struct_size = sizeof(BurnDecoratorInterface),
    .version = 1,
    .wraps_tensors = 0,
    .open = trace_open,
};

BURN_COMMON_PLUGIN(DECORATOR, "trace", "0.1.0", "MIT OR Apache-2.0",
                   "prints, counts or records every op that passes, with shapes and times",
                   {"burn.decorator", &decorator}, {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
