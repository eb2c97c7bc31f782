#pragma once
// A training as objects of Kubernetes, without an operator of ours: an Indexed Job and the headless
// Service through which its pods find the first one, or a JobSet, which brings its own Service.
// Pure.
//
// Which fields matter and why: docs/kubernetes.md. Job: batch/v1 as of Kubernetes 1.31
// (successPolicy, podFailurePolicy). JobSet: jobset.x-k8s.io/v1alpha2; the names of its pods are
// SET-REPLICATED_JOB-JOB-INDEX.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"

namespace robustrun::cli {

struct KubernetesJob {
  bool is_jobset = false;
  std::string name;  // of all objects and of the Secret: a DNS label
  std::string image;  // of the container
  std::string claim;  // name of a PersistentVolumeClaim that all nodes can mount, at /data
  std::string queue;  // Kueue's LocalQueue; empty: none
  std::int64_t nodes = 1;
  std::int64_t gpus = 0;  // of each pod; 0: no limit is set
  std::int64_t cpus = 0;  // of each pod; 0: no limit is set
  std::string memory;  // of each pod, in Kubernetes' notation; empty: no limit is set
  std::chrono::seconds shutdown_timeout{};  // of robustrun in a pod
  std::vector<std::string> words;  // options of robustrun, the script and its arguments
};

// The documents, for `kubectl apply -f -`.
[[nodiscard]] std::string kubernetes_manifest(const KubernetesJob& job);

// `settings`: of the line of `robustrun k8s`. Options of a run on the command line and in the file
// of --config go into the pods' command. Errors are whole sentences for the user.
[[nodiscard]] base::Result<KubernetesJob> plan_kubernetes(const Settings& settings);

}  // namespace robustrun::cli
