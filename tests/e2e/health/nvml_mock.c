/* libnvidia-ml.so.1 for tests, with the real library's names and calling convention. What it says
 * is in the file that NVML_MOCK names: "DRIVER COUNT", "fail CODE" or "hang". GPU 1 is lost, and
 * GPU 2 knows less than the others. NVML_EVENTS names a file of "GPU XID" lines, each an event; what
 * sensors say is in the file that NVML_SENSORS names: "NAME GPU VALUE" lines, read at every call;
 * there "process" lines name pids that compute on the GPU in place of two made-up ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int nvmlReturn_t;

static char word[80];
static unsigned number;

nvmlReturn_t nvmlInit_v2(void) {
  const char *path = getenv("NVML_MOCK");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file || fscanf(file, "%79s %u", word, &number) < 1) return 12; /* LIBRARY_NOT_FOUND */
  fclose(file);
  while (strcmp(word, "hang") == 0) pause();
  return strcmp(word, "fail") == 0 ? (nvmlReturn_t)number : 0;
}

nvmlReturn_t nvmlShutdown(void) {
  const char *path = getenv("NVML_DONE"); /* made once all events have been read */
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) fclose(file);
  return 0;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
  if (length <= strlen(word)) return 7; /* INSUFFICIENT_SIZE */
  strcpy(version, word);
  return 0;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
  *count = number;
  return 0;
}

const char *nvmlErrorString(nvmlReturn_t code) {
  return code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}

struct nvmlDevice_st {
  unsigned index;
};
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct {
  unsigned gpu, memory;
} nvmlUtilization_t;
typedef struct {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
} nvmlPciInfo_t;
typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

static struct nvmlDevice_st devices[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
  if (index >= 8) return 2; /* INVALID_ARGUMENT */
  if (index == 1) return 15; /* GPU_IS_LOST */
  *device = &devices[index];
  return 0;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
  return snprintf(name, length, "Mock GPU %u", device->index) < (int)length ? 0 : 7;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length) {
  return snprintf(uuid, length, "GPU-%08u", device->index) < (int)length ? 0 : 7;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
  memset(pci, 0, sizeof *pci);
  snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", 0x3B + device->index);
  return 0;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *busy) {
  if (device->index == 2) return 3; /* NOT_SUPPORTED */
  busy->gpu = 97;
  busy->memory = 12;
  return 0;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts) {
  *milliwatts = 90500 + device->index;
  return device->index == 2 ? 3 : 0;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *milliwatts) {
  *milliwatts = 700000;
  return device->index == 2 ? 3 : 0;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int counter,
                                         unsigned long long *errors) {
  *errors = device->index == 0 && type == 1 && counter == 0 ? 5000000000ull : 0;
  return 0;
}

/* What follows is of nvml.h as of driver 550: events, temperatures, remapped rows, NVLink. */
typedef struct nvmlEventSet_st {
  long done; /* of the file of events */
} *nvmlEventSet_t;
typedef struct {
  nvmlDevice_t device;
  unsigned long long eventType, eventData;
  unsigned gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

static unsigned long long sensor(const char *name, unsigned gpu, unsigned long long otherwise) {
  const char *path = getenv("NVML_SENSORS");
  FILE *file = path ? fopen(path, "r") : NULL;
  char found[80];
  unsigned index;
  unsigned long long value, last = otherwise;
  while (file && fscanf(file, "%79s %u %llu", found, &index, &value) == 3)
    if (strcmp(found, name) == 0 && index == gpu) last = value;
  if (file) fclose(file);
  return last;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
  *set = calloc(1, sizeof **set);
  return 0;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set) {
  return device && types == 0x8 && set ? 0 : 2; /* INVALID_ARGUMENT */
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms) {
  const char *path = getenv("NVML_EVENTS");
  for (unsigned waited = 0;; waited += 20) {
    FILE *file = path ? fopen(path, "r") : NULL;
    unsigned gpu, xid;
    int got = file && fseek(file, set->done, SEEK_SET) == 0 && fscanf(file, "%u %u\n", &gpu, &xid) == 2;
    if (got) set->done = ftell(file);
    if (file) fclose(file);
    if (got) {
      memset(data, 0, sizeof *data);
      data->device = &devices[gpu];
      data->eventType = 0x8;
      data->eventData = xid;
      return 0;
    }
    if (sensor("hang", 0, 0)) pause();
    if (waited >= timeout_ms) return 10; /* TIMEOUT */
    usleep(20000);
  }
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor_type, unsigned *degrees) {
  if (sensor_type != 0) return 2;
  if (sensor("lost", device->index, 0)) return 15; /* GPU_IS_LOST */
  *degrees = (unsigned)sensor("temperature", device->index, 45);
  return 0;
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, int type, unsigned *degrees) {
  *degrees = 90;
  return type == 1 && device->index != 2 ? 0 : 3;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long *reasons) {
  *reasons = sensor("throttled", device->index, 1);
  return device->index == 2 ? 3 : 0;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected,
                                       unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  *corrected = *uncorrected = 0;
  *pending = (unsigned)sensor("pending", device->index, 0);
  *failed = (unsigned)sensor("failed", device->index, 0);
  return device->index == 2 ? 3 : 0;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *active) {
  *active = link == 0;
  return device->index == 2 || link >= 2 ? 2 : 0;
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link, int counter,
                                             unsigned long long *errors) {
  *errors = counter == 2 && link == 0 ? sensor("nvlink", device->index, 7) : 0;
  return 0;
}

typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
  memory->total = 80ull << 30;
  memory->used = sensor("used_mib", device->index, 600) << 20;
  memory->free = memory->total - memory->used;
  return 0;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                     nvmlProcessInfo_t *processes) {
  const char *path = getenv("NVML_SENSORS");
  FILE *file = path ? fopen(path, "r") : NULL;
  char found[80];
  unsigned index, listed = 0, size = *count, named = 0;
  unsigned long long value;
  if (size < 8) return 7; /* INSUFFICIENT_SIZE */
  while (file && listed < 8 && fscanf(file, "%79s %u %llu", found, &index, &value) == 3) {
    if (strcmp(found, "process") != 0) continue;
    named = 1;
    if (index == device->index && value != 0) processes[listed++].pid = (unsigned)value;
  }
  if (file) fclose(file);
  for (unsigned i = 0; !named && i < 2; ++i) processes[listed++].pid = 100 * (device->index + 1) + i;
  for (unsigned i = 0; i < listed; ++i) {
    processes[i].usedGpuMemory = ~0ull;
    processes[i].gpuInstanceId = processes[i].computeInstanceId = ~0u;
  }
  *count = listed;
  return 0;
}
