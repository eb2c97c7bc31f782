#include "cli/submit/kubernetes_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/core/text.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::size_t kNameMax = 40;  // hosts' names have an index behind it, 63 in all
constexpr std::chrono::seconds kShutdownTimeout{100};
constexpr int kGraceMargin = 20;  // seconds from robustrun's end to Kubernetes' SIGKILL
constexpr std::string_view kReplicatedJob = "workers";

std::string indented(std::string_view text, std::size_t by) {
  std::string out;
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.empty()) out += std::string(by, ' ') + std::string(line);
    out += '\n';
  }
  out.pop_back();  // after the last line end
  return out;
}

// A word of the command. Kubernetes replaces $(NAME) in it, and $$ by $.
std::string literal(std::string_view word) {
  std::string out;
  for (const char c : word) out += c == '$' ? "$$" : std::string(1, c);
  return base::json_string(out);
}

// Quoted: "on" and "null" would be no texts.
std::string name_of(const KubernetesJob& job) { return base::json_string(job.name); }

std::string service(const KubernetesJob& job) {
  return fmt::format(R"(apiVersion: v1
kind: Service
metadata:
  name: {0}
spec:
  clusterIP: None
  publishNotReadyAddresses: true  # the pods find the first one before it is ready
  selector:
    batch.kubernetes.io/job-name: {0}
---
)",
                     name_of(job));
}

std::string metadata(const KubernetesJob& job) {
  std::string text = fmt::format("metadata:\n  name: {}\n", name_of(job));
  if (!job.queue.empty()) {
    text += "  labels:\n    kueue.x-k8s.io/queue-name: " + base::json_string(job.queue) + "\n";
  }
  return text;
}

std::string resources(const KubernetesJob& job) {
  std::string limits;
  if (job.gpus > 0) limits += fmt::format("      nvidia.com/gpu: {}\n", job.gpus);
  if (job.cpus > 0) limits += fmt::format("      cpu: {}\n", job.cpus);
  if (!job.memory.empty()) limits += fmt::format("      memory: {}\n", job.memory);
  return limits.empty() ? "" : "  resources:\n    limits:\n" + limits;
}

std::string container(const KubernetesJob& job) {
  std::string text = fmt::format(R"(- name: train
  image: {}
  workingDir: /data
  command:
    - robustrun
)",
                                 base::json_string(job.image));
  const std::string first = job.is_jobset ? fmt::format("{0}-{1}-0-0.{0}", job.name, kReplicatedJob)
                                          : fmt::format("{0}-0.{0}", job.name);
  // $(…) of these is for Kubernetes.
  for (const std::string& word :
       {fmt::format("--nnodes={}", job.nodes), std::string("--node-rank=$(JOB_COMPLETION_INDEX)"),
        "--master-addr=" + first, std::string("--master-port=29500"),
        std::string("--secret-file=/run/secrets/robustrun/secret"),
        std::string("--run-dir=/data/runs/$(JOB_COMPLETION_INDEX)-"
                    "$(POD_UID)")}) {
    text += "    - " + word + "\n";
  }
  for (const std::string& word : job.words) text += "    - " + literal(word) + "\n";
  text += R"(  env:
    - name: POD_UID
      valueFrom:
        fieldRef:
          fieldPath: metadata.uid
)";
  text += resources(job);
  text += R"(  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop: [ALL]
  volumeMounts:
    - name: secret
      mountPath: /run/secrets/robustrun
      readOnly: true
    - name: shared
      mountPath: /data
    - name: memory
      mountPath: /dev/shm
)";
  return text;
}

std::string pod(const KubernetesJob& job) {
  std::string text = "restartPolicy: Never\n";
  if (!job.is_jobset) text += fmt::format("subdomain: {}\n", name_of(job));
  text += fmt::format(R"(terminationGracePeriodSeconds: {}  # more than --shutdown-timeout
shareProcessNamespace: true  # as process 1 it could not be stopped before it has begun
tolerations:  # a lost machine's pod is given up after 30 s, not after 5 minutes
  - key: node.kubernetes.io/unreachable
    operator: Exists
    effect: NoExecute
    tolerationSeconds: 30
  - key: node.kubernetes.io/not-ready
    operator: Exists
    effect: NoExecute
    tolerationSeconds: 30
securityContext:
  seccompProfile:
    type: RuntimeDefault
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
containers:
)",
                      job.shutdown_timeout.count() + kGraceMargin);
  text += indented(container(job), 2);
  text += fmt::format(R"(volumes:
  - name: secret
    secret:
      secretName: {}
      defaultMode: 0400
  - name: shared
    persistentVolumeClaim:
      claimName: {}  # one that all nodes can mount: ReadWriteMany
  - name: memory  # data loaders, NCCL and copies of checkpoints: 64 MiB are not enough
    emptyDir:
      medium: Memory
)",
                      name_of(job), base::json_string(job.claim));
  return text;
}

std::string indexed_job(const KubernetesJob& job) {
  return fmt::format(R"(completionMode: Indexed
completions: {0}
parallelism: {0}
backoffLimit: 1000
successPolicy:  # the first pod has the supervisor
  rules:
    - succeededIndexes: "0"
podFailurePolicy:
  rules:
    # A drained, preempted or evicted pod does not count as a failure.
    - action: Ignore
      onPodConditions:
        - type: DisruptionTarget
          status: "True"
    # Lost machines (94), and processes that were killed or stopped from outside, are started again.
    - action: FailJob
      onExitCodes:
        containerName: train
        operator: NotIn
        values: [94, 137, 143]
template:
  spec:
{1})",
                     job.nodes, indented(pod(job), 4));
}

// ---- from the command line -------------------------------------------------------------------

bool is_name(std::string_view name) {
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= kNameMax && std::ranges::all_of(name, is_inner) &&
         name.front() != '-' && name.back() != '-' && std::isdigit(name.front()) == 0;
}

// "src/pretrain_gpt.py" → "pretrain-gpt"; of a module "package.train" → "package-train"
std::string name_of_script(std::string_view script, bool is_module) {
  std::string_view stem = script.substr(script.rfind('/') + 1);
  const std::size_t dot = stem.rfind('.');
  if (!is_module && dot != 0) stem = stem.substr(0, dot);
  std::string name;
  for (const char c : stem.substr(0, kNameMax)) {
    const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool fits = (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9');
    name += fits ? small : '-';
  }
  while (name.ends_with('-')) name.pop_back();
  while (!name.empty() && (name.front() == '-' || std::isdigit(name.front()) != 0)) {
    name.erase(0, 1);
  }
  return name.empty() ? "train" : name;
}

// Given by the user for this job. Variables of the shell may be meant for other commands.
bool is_asked(const Settings& settings, OptionId id) {
  const Origin origin = settings.get(id).origin;
  return origin == Origin::kCommandLine || origin == Origin::kFile;
}

// A number from 1 on; 0: not given.
Result<std::int64_t> count_of(const Settings& settings, OptionId id) {
  if (!is_asked(settings, id)) return 0;
  const auto count = parse_integer(settings.text(id));
  if (!count || *count < 1) return cannot_use(settings, id, "expected a number from 1 on");
  return *count;
}

// sbatch's notation, of which M is the default and all are powers of two: "200G" → "200Gi".
Result<std::string> memory_of(const Settings& settings) {
  const std::string text =
      is_asked(settings, OptionId::kMem) ? settings.text(OptionId::kMem) : std::string();
  if (text.empty() || text == "0") return std::string();
  std::string_view digits = text;
  std::string unit = "Mi";
  if (digits.ends_with('i')) digits.remove_suffix(1);
  if (!digits.empty()) {
    const char last = static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back())));
    if (std::string_view("KMGT").find(last) != std::string_view::npos) {
      unit = std::string(1, last) + "i";
      digits.remove_suffix(1);
    }
  }
  const auto count = parse_integer(digits);
  if (!count || *count < 1) {
    return cannot_use(settings, OptionId::kMem, "expected a size such as 200G");
  }
  return std::to_string(*count) + unit;
}

struct NotForPods {
  OptionId id;
  const char* why;
};
constexpr const char* kMade = "the manifest sets it; leave it out";
constexpr const char* kMeeting = "the pods find each other by their index; leave it out";
constexpr const char* kMachines = "Kubernetes chooses the machines; leave it out";
constexpr const char* kSlurms = "it is an option of Slurm; leave it out";
constexpr const char* kHere = "it has no meaning in a pod; leave it out";
constexpr auto kNotForPods = std::to_array<NotForPods>({
    {OptionId::kNnodes, "use --nodes=N"},
    {OptionId::kHosts, kMachines},
    {OptionId::kHostfile, kMachines},
    {OptionId::kInclude, kMachines},
    {OptionId::kExclude, kMachines},
    {OptionId::kRank0, kMachines},
    {OptionId::kSpares, "a lost pod is started again; leave it out"},
    {OptionId::kNodeRank, kMade},
    {OptionId::kMasterAddr, kMade},
    {OptionId::kMasterPort, kMade},
    {OptionId::kSecretFile, kMade},
    {OptionId::kRunDir, kMade},
    {OptionId::kRdzvBackend, kMeeting},
    {OptionId::kRdzvEndpoint, kMeeting},
    {OptionId::kRdzvId, kMeeting},
    {OptionId::kStandalone, kMeeting},
    {OptionId::kLocalAddr, kHere},
    {OptionId::kSlurm, kHere},
    {OptionId::kLauncher, "the pods start robustrun; leave it out"},
    {OptionId::kDetach, "a Job is detached anyway; leave it out"},
    {OptionId::kDryRun, "k8s only prints the objects; leave it out"},
    {OptionId::kVersion, kHere},
    {OptionId::kPrintConfig, kHere},
    {OptionId::kPrintCompletion, kHere},
    {OptionId::kPartition, kSlurms},
    {OptionId::kAccount, kSlurms},
    {OptionId::kQos, kSlurms},
    {OptionId::kTime, kSlurms},
    {OptionId::kSlurmOutput, kSlurms},
    {OptionId::kRequeueOn, kSlurms},
    {OptionId::kSbatch, kSlurms},
});

bool is_set(const Settings& settings, OptionId id) {
  if (!is_asked(settings, id)) return false;
  return option(id).type == Type::kFlag ? settings.flag(id) : !settings.text(id).empty();
}

base::Status check_options(const Settings& settings) {
  for (const NotForPods& foreign : kNotForPods) {
    if (is_set(settings, foreign.id)) return cannot_use(settings, foreign.id, foreign.why);
  }
  if (is_asked(settings, OptionId::kCompat) && settings.compat()) {
    return cannot_use(settings, OptionId::kCompat,
                      "its exit codes do not tell Kubernetes what to start again");
  }
  if (!is_set(settings, OptionId::kPodImage)) {
    return fail(Errc::kInvalidArgument,
                "cannot make a job: the image is missing; add --pod-image=IMAGE, which has "
                "robustrun, PyTorch and the script");
  }
  return {};
}

bool is_word_of_run(const Option& row) {
  return row.group != Group::kSubmit && row.group != Group::kKubernetes &&
         row.id != OptionId::kConfig &&
         std::ranges::find(kNotForPods, row.id, &NotForPods::id) == kNotForPods.end();
}

// Time of the workers between the request to stop and SIGKILL.
std::chrono::seconds shutdown_timeout(const Settings& settings) {
  const auto asked = [&](OptionId id) {
    return std::chrono::ceil<std::chrono::seconds>(*settings.duration(id));
  };
  if (is_asked(settings, OptionId::kShutdownTimeout)) return asked(OptionId::kShutdownTimeout);
  if (is_asked(settings, OptionId::kSaveWithin)) return asked(OptionId::kSaveWithin);
  return kShutdownTimeout;
}

Result<std::vector<std::string>> words_of(const Settings& settings, bool has_gpus) {
  std::vector<std::string> words;
  for (const Option& row : options()) {
    if (!is_word_of_run(row) || !is_set(settings, row.id)) continue;
    if (row.secret) {
      return cannot_use(settings, row.id,
                        fmt::format("it would stand in the manifest for all to read; put it into "
                                    "a Secret that sets the pods' variable {}",
                                    variable_name(row)));
    }
    words.push_back(row.type == Type::kFlag
                        ? fmt::format("--{}", row.name)
                        : fmt::format("--{}={}", row.name, settings.text(row.id)));
  }
  const auto unless_asked = [&](OptionId id, std::string_view value) {
    if (is_set(settings, id)) return;
    words.push_back(fmt::format("--{}={}", option(id).name, value));
  };
  if (has_gpus) unless_asked(OptionId::kNprocPerNode, "gpu");
  unless_asked(OptionId::kWaitForNodes, "1h");  // Kubernetes may take long to start a pod again
  unless_asked(OptionId::kOrphanGrace, "20");
  unless_asked(OptionId::kShutdownTimeout, std::to_string(shutdown_timeout(settings).count()));
  words.emplace_back("--");
  words.push_back(*settings.script);
  words.insert(words.end(), settings.arguments.begin(), settings.arguments.end());
  return words;
}

}  // namespace

std::string kubernetes_manifest(const KubernetesJob& job) {
  std::string text = "# Made by robustrun k8s; what each part is for: docs/kubernetes.md\n";
  if (!job.is_jobset) {
    return text + service(job) + "apiVersion: batch/v1\nkind: Job\n" + metadata(job) + "spec:\n" +
           indented(indexed_job(job), 2);
  }
  text += "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n" + metadata(job);
  text += fmt::format(R"(spec:
  network:
    enableDNSHostnames: true
    subdomain: {}
    publishNotReadyAddresses: true  # the pods find the first one before it is ready
  replicatedJobs:
    - name: {}
      replicas: 1
      template:
        spec:
)",
                      name_of(job), kReplicatedJob);
  return text + indented(indexed_job(job), 10);
}

Result<KubernetesJob> plan_kubernetes(const Settings& settings) {
  RR_TRY(check_options(settings));
  const auto text = [&](OptionId id) {
    return is_asked(settings, id) ? settings.text(id) : std::string();
  };
  KubernetesJob job;
  job.is_jobset = is_set(settings, OptionId::kJobset);
  job.name = text(OptionId::kJobName);
  if (job.name.empty()) {
    job.name = name_of_script(*settings.script, settings.flag(OptionId::kModule));
  }
  if (!is_name(job.name)) {
    return cannot_use(settings, OptionId::kJobName,
                      fmt::format("a name in Kubernetes has small letters, digits and dashes, "
                                  "begins with a letter, and here at most {} of them",
                                  kNameMax));
  }
  job.image = text(OptionId::kPodImage);
  job.claim = text(OptionId::kPodVolume).empty() ? job.name : text(OptionId::kPodVolume);
  job.queue = text(OptionId::kPodQueue);
  job.nodes = std::max<std::int64_t>(1, RR_TRY(count_of(settings, OptionId::kNodes)));
  job.gpus = RR_TRY(count_of(settings, OptionId::kGpusPerNode));
  job.cpus = RR_TRY(count_of(settings, OptionId::kCpusPerTask));
  job.memory = RR_TRY(memory_of(settings));
  job.words = RR_TRY(words_of(settings, job.gpus > 0));
  job.shutdown_timeout = shutdown_timeout(settings);
  return job;
}

}  // namespace robustrun::cli
