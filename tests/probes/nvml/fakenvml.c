/* fake libnvidia-ml.so.1 for tests: answers come from a scenario file.
 * Written from the public NVML ABI (return codes, struct layouts); no NVIDIA source.
 *
 * Scenario = lines "key = value"; '#' comments. Keys:
 *   driver = 550.54.15      nvml = 12.550.54.15      cuda = 12040      count = 2
 *   gpu0.<attr> = v[;v2;v3...]     a list is a time line: one entry per call, last one sticks
 *   gpu0.err.<cFunction> = CODE    force a return code   ("15@3" = succeed 3 times, then 15)
 *   gpu0.err.* / err.<cFunction> / err.*                 same, wider
 *   gpu0.<attr> = 1000+250/s       a counter: 1000 when the scenario is loaded, then 250 more each second
 *   gpu0.mig1.<attr>               an attribute of MIG slice 1 of GPU 0
 *   gpu0.xid = 79;48               Xid events, each delivered once
 *   hang.<cFunction> = 5000        that call takes so many milliseconds
 * A device attribute that the scenario lacks answers NVML_ERROR_NOT_SUPPORTED (3),
 * so a scenario lists only what the imagined GPU can do.
 * File: $FAKE_NVML_SCENARIO; re-read whenever the init reference count goes 0 -> 1.
 * Built with -DOLD_LIBRARY it lacks what drivers before 510 lacked: memory info v2, clock event reasons by their newer
 * name, process lists v3, temperatures by structure, GPM.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

typedef int R; typedef unsigned U; typedef unsigned long long ULL;
enum { OK=0, UNINIT=1, INVAL=2, NOTSUP=3, NOTFOUND=6, TOOSMALL=7, TIMEOUT=10, ARGVER=25 };
#define MAXG 16
#define MAXS 8
#define MAXK 4096
typedef struct { int magic, idx, slice; } Dev;
static Dev devs[MAXG * (1 + MAXS)];   /* the GPUs, then the slices of each */
static double loaded_at;
static struct { char *k, *v; int n; } kv[MAXK];   /* n = times read: drives time lines and "@n" */
static int nkv, refs, debug;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static int slot(const char *k) {
    for (int i = 0; i < nkv; i++) if (!strcmp(kv[i].k, k)) return i;
    return -1;
}
static const char *val(const char *k, char *buf, size_t z);
static char *trim(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    char *e = s + strlen(s);
    while (e > s && strchr(" \t\r\n", e[-1])) *--e = 0;
    return s;
}
static double now_s(void) { struct timeval t; gettimeofday(&t, 0); return t.tv_sec + t.tv_usec / 1e6; }
static void load(void) {
    for (int i = 0; i < nkv; i++) { free(kv[i].k); free(kv[i].v); }
    nkv = 0; debug = getenv("FAKE_NVML_DEBUG") != NULL;
    const char *p = getenv("FAKE_NVML_SCENARIO");
    FILE *f = p ? fopen(p, "r") : NULL;
    char line[4096];
    while (f && nkv < MAXK && fgets(line, sizeof line, f)) {
        char *h = strchr(line, '#'), *eq; if (h) *h = 0;
        if (!(eq = strchr(line, '='))) continue;
        *eq = 0;
        kv[nkv].k = strdup(trim(line)); kv[nkv].v = strdup(trim(eq + 1)); kv[nkv++].n = 0;
    }
    if (f) fclose(f);
    for (int i = 0; i < MAXG; i++) devs[i] = (Dev){0x6e76, i, -1};
    for (int i = 0; i < MAXG * MAXS; i++) devs[MAXG + i] = (Dev){0x6e76, i / MAXS, i % MAXS};
    loaded_at = now_s();
}
/* value of key at its present call number; NULL when the scenario lacks it */
static const char *val(const char *k, char *buf, size_t z) {
    int i = slot(k); if (i < 0) return NULL;
    const char *s = kv[i].v, *c; int n = kv[i].n++;
    while (n-- > 0 && (c = strchr(s, ';'))) s = c + 1;
    snprintf(buf, z, "%.*s", (int)strcspn(s, ";"), s);
    return buf;
}
static R inject(const char *scope, const char *fn) {
    char k[256]; const char *forms[2] = {fn, "*"};
    for (int j = 0; j < 2; j++) {
        snprintf(k, sizeof k, "%serr.%s", scope, forms[j]);
        int i = slot(k); if (i < 0) continue;
        char *at = strchr(kv[i].v, '@');
        if (at && kv[i].n++ < atoi(at + 1)) continue;
        return atoi(kv[i].v);
    }
    return OK;
}
/* prologue common to all calls: initialised? handle sane? error injected? */
static R enter(const char *fn, Dev *d, int needdev, char *scope) {
    if (debug) fprintf(stderr, "fakenvml: %s\n", fn);
    scope[0] = 0;
    if (!refs) return UNINIT;
    char k[256], b[32]; snprintf(k, sizeof k, "hang.%s", fn);
    if (slot(k) >= 0) usleep(1000 * atoi(val(k, b, sizeof b)));
    R r = inject("", fn); if (r) return r;
    if (!needdev) return OK;
    if (!d || (char *)d < (char *)devs || (char *)d >= (char *)(devs + MAXG * (1 + MAXS)) || d->magic != 0x6e76) return INVAL;
    if (d->slice < 0) snprintf(scope, 32, "gpu%d.", d->idx);
    else snprintf(scope, 32, "gpu%d.mig%d.", d->idx, d->slice);
    return inject(scope, fn);
}
static R num(const char *scope, const char *attr, ULL *out) {
    char k[256], b[512]; snprintf(k, sizeof k, "%s%s", scope, attr);
    const char *v = val(k, b, sizeof b);
    if (!v) return NOTSUP;
    char *more; *out = strtoull(v, &more, 0);
    if (*more == '+') *out += (ULL)(strtod(more + 1, NULL) * (now_s() - loaded_at));
    return OK;
}
static R str(const char *scope, const char *attr, char *out, U n) {
    char k[256], b[512]; snprintf(k, sizeof k, "%s%s", scope, attr);
    const char *v = val(k, b, sizeof b);
    if (!v) return NOTSUP;
    if (strlen(v) + 1 > n) return TOOSMALL;
    strcpy(out, v); return OK;
}
static ULL now_us(void) { return now_s() * 1e6; }

#define ENTER(d) char S[32]; pthread_mutex_lock(&mu); R r = enter(__func__, d, 1, S); if (r) goto out;
#define ENTER0   char S[32]; pthread_mutex_lock(&mu); R r = enter(__func__, 0, 0, S); if (r) goto out;
#define LEAVE    out: pthread_mutex_unlock(&mu); return r;
#define GET(attr, dst) do { ULL v_ = 0; if ((r = num(S, attr, &v_))) goto out; (dst) = v_; } while (0)

/* ---- one line each -------------------------------------------------------------------- */
#define U32(fn, attr)   R fn(Dev *d, U *o)            { ENTER(d) GET(attr, *o); LEAVE }
#define U64(fn, attr)   R fn(Dev *d, ULL *o)          { ENTER(d) GET(attr, *o); LEAVE }
#define U32x(fn, fmt)   R fn(Dev *d, U t, U *o)       { char a[64]; ENTER(d) snprintf(a, 64, fmt, t); GET(a, *o); LEAVE }
#define PAIR(fn, a, b)  R fn(Dev *d, U *x, U *y)      { ENTER(d) GET(a, *x); GET(b, *y); LEAVE }
#define STR(fn, attr)   R fn(Dev *d, char *o, U n)    { ENTER(d) r = str(S, attr, o, n); LEAVE }
#define SYS(fn, attr)   R fn(char *o, U n)            { ENTER0 r = str(S, attr, o, n); LEAVE }
SYS(nvmlSystemGetDriverVersion, "driver")                 SYS(nvmlSystemGetNVMLVersion, "nvml")
STR(nvmlDeviceGetName, "name")                            STR(nvmlDeviceGetUUID, "uuid")
STR(nvmlDeviceGetSerial, "serial")                        STR(nvmlDeviceGetVbiosVersion, "vbios")
U32(nvmlDeviceGetPowerUsage, "power.draw_mw")             U32(nvmlDeviceGetEnforcedPowerLimit, "power.limit_mw")
U32(nvmlDeviceGetPowerManagementLimit, "power.limit_mw")  U64(nvmlDeviceGetTotalEnergyConsumption, "energy_mj")
U32(nvmlDeviceGetPerformanceState, "pstate")              U32(nvmlDeviceGetFanSpeed, "fan")
U32(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen")      U32(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
U32(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.gen_max")   U32(nvmlDeviceGetMaxPcieLinkWidth, "pcie.width_max")
U32(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.gen_gpu")U32(nvmlDeviceGetPcieReplayCounter, "pcie.replays")
U64(nvmlDeviceGetCurrentClocksThrottleReasons, "reasons") U64(nvmlDeviceGetSupportedClocksThrottleReasons, "reasons_supported")
#ifndef OLD_LIBRARY
U64(nvmlDeviceGetCurrentClocksEventReasons, "reasons")    U64(nvmlDeviceGetSupportedClocksEventReasons, "reasons_supported")
#endif
U32(nvmlDeviceGetComputeMode, "compute_mode")             U32(nvmlDeviceGetPersistenceMode, "persistence")
U32(nvmlDeviceGetMemoryBusWidth, "bus_width")             U32(nvmlDeviceGetNumGpuCores, "cores")
U32(nvmlDeviceGetMinorNumber, "minor")                    U32(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")
U32(nvmlDeviceGetMaxMigDeviceCount, "mig.max")            U32(nvmlDeviceIsMigDeviceHandle, "is_mig")
U32(nvmlDeviceGetArchitecture, "arch")                    U32(nvmlDeviceGetBrand, "brand")
U32(nvmlDeviceGetVirtualizationMode, "virt")              U32(nvmlDeviceGetDisplayActive, "display")
U32(nvmlDeviceGetPowerManagementDefaultLimit, "power.default_mw")
U32(nvmlDeviceGetGpuInstanceId, "gi")                     U32(nvmlDeviceGetComputeInstanceId, "ci")
U32(nvmlDeviceGetNumaNodeId, "numa")                      U64(nvmlDeviceGetSupportedEventTypes, "event_types")
U32x(nvmlDeviceGetApplicationsClock, "clock_app.%u")
U32x(nvmlDeviceGetPcieThroughput, "pcie.kbps.%u")         U32x(nvmlDeviceGetTemperature, "temp.%u")
U32x(nvmlDeviceGetClockInfo, "clock.%u")                  U32x(nvmlDeviceGetMaxClockInfo, "clock_max.%u")
U32x(nvmlDeviceGetTemperatureThreshold, "temp_limit.%u")  U32x(nvmlDeviceGetNvLinkState, "nvlink.%u")
PAIR(nvmlDeviceGetEccMode, "ecc.now", "ecc.next")         PAIR(nvmlDeviceGetMigMode, "mig.now", "mig.next")
PAIR(nvmlDeviceGetEncoderUtilization, "util.enc", "util.period_us")
PAIR(nvmlDeviceGetDecoderUtilization, "util.dec", "util.period_us")
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "power.min_mw", "power.max_mw")
PAIR(nvmlDeviceGetCudaComputeCapability, "cc.major", "cc.minor")

/* ---- structs: 3 to 6 lines each --------------------------------------------------------- */
typedef struct { ULL total, free, used; } Mem1;
typedef struct { U version; ULL total, reserved, free, used; } Mem2;
/* v1 "used" counts the reserved bytes, v2 does not */
R nvmlDeviceGetMemoryInfo(Dev *d, Mem1 *m) { ULL res = 0;
    ENTER(d) GET("mem.total", m->total); GET("mem.used", m->used); num(S, "mem.reserved", &res);
    m->used += res; m->free = m->total - m->used; LEAVE }
#ifndef OLD_LIBRARY
R nvmlDeviceGetMemoryInfo_v2(Dev *d, Mem2 *m) {
    ENTER(d) if (m->version != (sizeof(Mem2) | 2u << 24)) { r = ARGVER; goto out; }
    GET("mem.total", m->total); GET("mem.used", m->used); GET("mem.reserved", m->reserved);
    m->free = m->total - m->used - m->reserved; LEAVE }
#endif
typedef struct { U gpu, memory; } Util;
R nvmlDeviceGetUtilizationRates(Dev *d, Util *u) { ENTER(d) GET("util.gpu", u->gpu); GET("util.mem", u->memory); LEAVE }
typedef struct { ULL total, free, used; } Bar1;
R nvmlDeviceGetBAR1MemoryInfo(Dev *d, Bar1 *b) {
    ENTER(d) GET("bar1.total", b->total); GET("bar1.used", b->used); b->free = b->total - b->used; LEAVE }
#ifndef OLD_LIBRARY
typedef struct { U version; int margin; } Margin;
R nvmlDeviceGetMarginTemperature(Dev *d, Margin *m) {
    ENTER(d) if (m->version != (sizeof(Margin) | 1u << 24)) { r = ARGVER; goto out; } GET("temp.margin", m->margin); LEAVE }
typedef struct { U version, sensor; int temp; } TempV1;
R nvmlDeviceGetTemperatureV(Dev *d, TempV1 *t) { char a[32];
    ENTER(d) if (t->version != (sizeof(TempV1) | 1u << 24)) { r = ARGVER; goto out; }
    snprintf(a, sizeof a, "temp.%u", t->sensor); GET(a, t->temp); LEAVE }
#endif
typedef struct { char legacy[16]; U domain, bus, device, id, subid; char busid[32]; } Pci;
R nvmlDeviceGetPciInfo_v3(Dev *d, Pci *p) {
    ENTER(d) if ((r = str(S, "busid", p->busid, 32))) goto out;      /* 00000000:3B:00.0 */
    sscanf(p->busid, "%x:%x:%x", &p->domain, &p->bus, &p->device);
    snprintf(p->legacy, 16, "%04X:%02X:%02X.0", p->domain & 0xffff, p->bus & 0xff, p->device & 0xff);
    p->id = p->subid = 0; { ULL v; if (!num(S, "pci_id", &v)) p->id = v; } LEAVE }
R nvmlDeviceGetTotalEccErrors(Dev *d, U type, U counter, ULL *o) { char a[64];   /* 0 corrected 1 uncorrected */
    ENTER(d) snprintf(a, 64, "ecc.%s.%s", type ? "uncorrected" : "corrected", counter ? "aggregate" : "volatile"); GET(a, *o); LEAVE }
R nvmlDeviceGetRemappedRows(Dev *d, U *c, U *u, U *p, U *f) {
    ENTER(d) GET("remap.corr", *c); GET("remap.unc", *u); GET("remap.pending", *p); GET("remap.failure", *f); LEAVE }

R nvmlDeviceGetMemoryErrorCounter(Dev *d, U type, U counter, U place, ULL *o) { char a[64];   /* place 2 DRAM 7 SRAM */
    ENTER(d) snprintf(a, 64, "ecc.%s.%s.%u", type ? "uncorrected" : "corrected", counter ? "aggregate" : "volatile", place);
    GET(a, *o); LEAVE }
typedef struct { U max, high, partial, low, none; } Banks;
R nvmlDeviceGetRowRemapperHistogram(Dev *d, Banks *b) {
    ENTER(d) GET("banks.max", b->max); GET("banks.high", b->high); GET("banks.partial", b->partial);
    GET("banks.low", b->low); GET("banks.none", b->none); LEAVE }
typedef struct { ULL reference_us, violation_ns; } Violation;
R nvmlDeviceGetViolationStatus(Dev *d, U policy, Violation *o) { char a[32];
    ENTER(d) snprintf(a, 32, "violation.%u", policy); GET(a, o->violation_ns); o->reference_us = now_s() * 1e6; LEAVE }
R nvmlDeviceGetCpuAffinity(Dev *d, U n, unsigned long *o) { ENTER(d) memset(o, 0, n * sizeof *o); GET("cpus", o[0]); LEAVE }
typedef struct { U sms, copy, dec, enc, jpeg, ofa, gslices, cslices; ULL mb; } Attributes;
R nvmlDeviceGetAttributes_v2(Dev *d, Attributes *o) {
    ENTER(d) memset(o, 0, sizeof *o); GET("sms", o->sms); num(S, "copy_engines", &o->mb); o->copy = o->mb;
    o->mb = 0; num(S, "decoders", &o->mb); o->dec = o->mb; LEAVE }

/* ---- arrays, two-call protocol: 8 to 12 lines each -------------------------------------- */
typedef struct { U pid; ULL mem; U gi, ci; } Proc;
static R procs(const char *S, const char *list, U *n, Proc *o) { ULL want = 0; char a[48]; R r;   /* procs, gprocs, mprocs */
    snprintf(a, 48, "%ss", list); if ((r = num(S, a, &want))) return r;
    if (want > *n || (want && !o)) { *n = want; return TOOSMALL; }
    for (U i = 0; i < want; i++) { ULL v;
        snprintf(a, 48, "%s%u.pid", list, i); o[i].pid = num(S, a, &v) ? 0 : v;
        snprintf(a, 48, "%s%u.mem", list, i); if (num(S, a, &o[i].mem)) o[i].mem = ~0ULL;   /* NOT_AVAILABLE */
        snprintf(a, 48, "%s%u.gi", list, i); o[i].gi = num(S, a, &v) ? ~0u : v;
        o[i].ci = ~0u;
    }
    *n = want; return OK; }
#define PROCS(fn, list) R fn(Dev *d, U *n, Proc *o) { ENTER(d) r = procs(S, list, n, o); LEAVE }
PROCS(nvmlDeviceGetComputeRunningProcesses_v2, "proc")    PROCS(nvmlDeviceGetGraphicsRunningProcesses_v2, "gproc")
#ifndef OLD_LIBRARY
PROCS(nvmlDeviceGetComputeRunningProcesses_v3, "proc")    PROCS(nvmlDeviceGetGraphicsRunningProcesses_v3, "gproc")
PROCS(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mproc")
#endif
R nvmlSystemGetProcessName(U pid, char *o, U n) { char a[32]; ENTER0 snprintf(a, 32, "process.%u", pid); r = str("", a, o, n);
    if (r == NOTSUP) { r = NOTFOUND; }
    LEAVE }
R nvmlDeviceGetRetiredPages(Dev *d, U cause, U *n, ULL *o) { ULL want; char a[32];   /* cause 0 single bit, 1 double bit */
    ENTER(d) snprintf(a, 32, "retired.%u", cause); GET(a, want);
    if (want > *n || (want && !o)) { *n = want; r = TOOSMALL; goto out; }
    for (U i = 0; i < want; i++) o[i] = 4096 * i;
    *n = want; LEAVE }
typedef struct { ULL ts; union { double d; U u; ULL ull; } v; } Sample;
R nvmlDeviceGetSamples(Dev *d, U type, ULL since, U *vtype, U *n, Sample *o) { char a[32]; ULL c; U k;
    ENTER(d) snprintf(a, 32, "samples.%u", type);                   /* samples.1 = how many; samples.1.v = values */
    GET(a, c); *vtype = 1; if (!o) { *n = c; goto out; }
    if (!c) { r = NOTFOUND; goto out; }
    snprintf(a, 32, "samples.%u.v", type); k = *n < c ? *n : (U)c;
    for (U i = 0; i < k; i++) { o[i].ts = now_us() - (k - i) * 166667ULL; o[i].v.ull = 0; GET(a, o[i].v.u); }
    *n = k; (void)since; LEAVE }
typedef struct { U pid; ULL ts; U sm, mem, enc, dec; } PUtil;
R nvmlDeviceGetProcessUtilization(Dev *d, PUtil *o, U *n, ULL since) { ULL c; char a[32]; (void)since;
    ENTER(d) GET("putil", c); if (!c) { r = NOTFOUND; goto out; }
    if (!o || *n < c) { *n = c; r = TOOSMALL; goto out; }
    for (U i = 0; i < c; i++) { ULL age = 0; memset(&o[i], 0, sizeof o[i]);
        snprintf(a, 32, "putil%u.age_s", i); num(S, a, &age); o[i].ts = now_us() - age * 1000000;
        snprintf(a, 32, "putil%u.pid", i); GET(a, o[i].pid); snprintf(a, 32, "putil%u.sm", i); GET(a, o[i].sm);
        snprintf(a, 32, "putil%u.mem", i); GET(a, o[i].mem); }
    *n = c; LEAVE }
typedef struct { U id, scope; long long ts, lat; U vtype; R ret; ULL v; } Field;
R nvmlDeviceGetFieldValues(Dev *d, int n, Field *f) { char a[48];   /* field.<id> or field.<id>.<scope> */
    ENTER(d) for (int i = 0; i < n; i++) {
        f[i].ts = now_us(); f[i].vtype = 3; f[i].v = 0;
        ULL type; snprintf(a, 48, "field.%u.type", f[i].id); if (!num(S, a, &type)) f[i].vtype = type;
        snprintf(a, 48, "field.%u.%u", f[i].id, f[i].scope);
        if ((f[i].ret = num(S, a, &f[i].v))) { snprintf(a, 48, "field.%u", f[i].id); f[i].ret = num(S, a, &f[i].v); }
    } LEAVE }

/* ---- MIG, events, GPM --------------------------------------------------------------------- */
R nvmlDeviceGetMigDeviceHandleByIndex(Dev *d, U i, Dev **o) { char a[64]; int there;
    ENTER(d) snprintf(a, 64, "%smig%u.name", S, i); there = i < MAXS && slot(a) >= 0;
    if (!there) { r = NOTFOUND; goto out; }
    *o = &devs[MAXG + d->idx * MAXS + i]; LEAVE }
typedef struct { Dev *dev; ULL type, data; U gi, ci; } Event;
static int registered[MAXG], delivered[MAXG];
R nvmlEventSetCreate(void **o) { ENTER0 *o = registered; memset(registered, 0, sizeof registered); LEAVE }
R nvmlEventSetFree(void *o) { (void)o; ENTER0 LEAVE }
R nvmlDeviceRegisterEvents(Dev *d, ULL types, void *set) { (void)set; ENTER(d) registered[d->idx] = !!(types & 8); LEAVE }
R nvmlEventSetWait_v2(void *set, Event *e, U ms) { char k[32]; (void)set; (void)ms;
    ENTER0 r = TIMEOUT;
    for (int g = 0; g < MAXG && r; g++) {
        snprintf(k, 32, "gpu%d.xid", g); int i = slot(k), n = 0;
        if (i < 0 || !registered[g]) continue;
        const char *s = kv[i].v; while (s && n < delivered[g]) { s = strchr(s, ';'); s = s ? s + 1 : NULL; n++; }
        if (s) { *e = (Event){&devs[g], 8, strtoull(s, NULL, 0), ~0u, ~0u}; delivered[g]++; r = OK; }
    } LEAVE }
#ifndef OLD_LIBRARY
typedef struct { U version, supported; } GpmSupport;
typedef struct { U id; R ret; double v; const char *info[3]; } GpmMetric;
typedef struct { U version, n; void *sample1, *sample2; GpmMetric m[1]; } GpmRequest;
typedef struct { Dev *dev; } GpmSample;
R nvmlGpmQueryDeviceSupport(Dev *d, GpmSupport *o) { ENTER(d) GET("gpm", o->supported); LEAVE }
R nvmlGpmSampleAlloc(GpmSample **o) { ENTER0 *o = calloc(1, sizeof **o); LEAVE }
R nvmlGpmSampleFree(GpmSample *s) { ENTER0 free(s); LEAVE }
R nvmlGpmSampleGet(Dev *d, GpmSample *s) { ENTER(d) s->dev = d; LEAVE }
R nvmlGpmMigSampleGet(Dev *d, U gi, GpmSample *s) { ULL v; char a[32];
    ENTER(d) r = NOTFOUND;
    for (U i = 0; i < MAXS; i++) { snprintf(a, 32, "mig%u.gi", i);
        if (!num(S, a, &v) && v == gi) { s->dev = &devs[MAXG + d->idx * MAXS + i]; r = OK; } }
    LEAVE }
R nvmlGpmMetricsGet(GpmRequest *q) { char a[64]; ULL v;
    ENTER0 if (q->version != 1) { r = ARGVER; goto out; }
    Dev *d = ((GpmSample *)q->sample2)->dev; if (!d || ((GpmSample *)q->sample1)->dev != d) { r = INVAL; goto out; }
    for (U i = 0; i < q->n; i++) {
        if (d->slice < 0) snprintf(a, 64, "gpu%d.gpm.%u", d->idx, q->m[i].id);
        else snprintf(a, 64, "gpu%d.mig%d.gpm.%u", d->idx, d->slice, q->m[i].id);
        q->m[i].ret = num("", a, &v); q->m[i].v = v;
    } LEAVE }
#endif

/* ---- library, enumeration ---------------------------------------------------------------- */
R nvmlInitWithFlags(U flags) { (void)flags; char S[8] = ""; R r;
    pthread_mutex_lock(&mu); if (!refs) { load(); memset(delivered, 0, sizeof delivered); }
    r = inject(S, "nvmlInitWithFlags"); if (!r) r = inject(S, "nvmlInit"); if (!r) refs++;
    pthread_mutex_unlock(&mu); return r; }
R nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
R nvmlShutdown(void) { R r = UNINIT; pthread_mutex_lock(&mu); if (refs) { refs--; r = OK; } pthread_mutex_unlock(&mu); return r; }
R nvmlDeviceGetCount_v2(U *o) { ULL v = 0; ENTER0 num("", "count", &v); *o = v; LEAVE }
R nvmlSystemGetCudaDriverVersion_v2(int *o) { ENTER0 GET("cuda", *o); LEAVE }
R nvmlSystemGetCudaDriverVersion(int *o) { return nvmlSystemGetCudaDriverVersion_v2(o); }
R nvmlDeviceGetHandleByIndex_v2(U i, Dev **o) { ULL c = 0; char s[32];
    ENTER0 num("", "count", &c); if (i >= c || i >= MAXG) { r = INVAL; goto out; }
    snprintf(s, 32, "gpu%u.", i); r = inject(s, __func__); if (!r) *o = &devs[i]; LEAVE }
R nvmlDeviceGetIndex(Dev *d, U *o) { ENTER(d) *o = d->idx; LEAVE }
R nvmlDeviceGetHandleByUUID(const char *u, Dev **o) { ULL c = 0; char k[32], b[512];
    ENTER0 num("", "count", &c); r = NOTFOUND;
    for (U i = 0; i < c && i < MAXG; i++) { snprintf(k, 32, "gpu%u.uuid", i); const char *v = val(k, b, 512);
        if (v && !strcmp(v, u)) { *o = &devs[i]; r = OK; } } LEAVE }
/* unversioned names that older callers (and torch.cuda's own ctypes code) ask for */
R nvmlInit(void) { return nvmlInitWithFlags(0); }
R nvmlDeviceGetCount(U *o) { return nvmlDeviceGetCount_v2(o); }
R nvmlDeviceGetHandleByIndex(U i, Dev **o) { return nvmlDeviceGetHandleByIndex_v2(i, o); }
const char *nvmlErrorString(R r) {
    switch (r) { case 0: return "Success"; case 1: return "Uninitialized"; case 2: return "Invalid Argument";
    case 3: return "Not Supported"; case 4: return "Insufficient Permissions"; case 6: return "Not Found";
    case 9: return "Driver Not Loaded"; case 15: return "GPU is lost"; case 18: return "Driver/library version mismatch";
    default: return "Unknown Error"; } }
