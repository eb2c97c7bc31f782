#pragma once
// Which profiler plugin NCCL would load into the workers without robustrun: the one that
// NCCL_PROFILER_PLUGIN names, in the environment or in NCCL's configuration files; otherwise
// libnccl-profiler.so, if the loader finds it (src/misc/param.cc and src/plugin/plugin_open.cc of
// NVIDIA/nccl). NCCL has one slot for profiler plugins; profiler_slot.h decides which plugin gets
// it. Reads small files; blocks as long as their disks do.

#include <string>
#include <string_view>
#include <vector>

#include "wire/messages/worker_template.h"

namespace robustrun::agent {

struct ProfilerChoice {
  enum class Kind : unsigned char {
    kNone,  // no plugin, or robustrun's own
    kOff,  // the user has turned plugins off
    kKept,  // the plugin keeps the slot, because ours cannot call it: `reason`
    kNamed,  // a plugin with a `name`: a path, or a name as NCCL takes it
  };
  Kind kind = Kind::kNone;
  std::string name{};
  std::string source{};  // what names the plugin, as text for the user
  std::string reason{};
};

// Where NCCL and the loader look; tests use other places.
struct ProfilerPlaces {
  std::string configuration = "/etc/nccl.conf";
  std::string loader_cache = "/etc/ld.so.cache";
  std::vector<std::string> folders = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
};

// `has_files`: whether the workers see this node's files; in an image they do not, and then only
// their environment counts.
[[nodiscard]] ProfilerChoice choose_profiler(const wire::WorkerTemplate& workers, bool has_files,
                                             const ProfilerPlaces& places = {});

// PREFIX/lib, where PREFIX/bin/NAME is the workers' interpreter without symbolic links. conda's
// interpreters look for libraries there, and so does NCCL inside them. Empty: no interpreter, or
// its file does not exist.
[[nodiscard]] std::string interpreters_libraries(const wire::WorkerTemplate& workers);

// Whether a value of NCCL_PROFILER_PLUGIN leaves the slot to robustrun: it is empty, or the path of
// robustrun's own plugin. Pure.
[[nodiscard]] bool leaves_the_slot(std::string_view value);

// The value of a variable in the text of a configuration file as NCCL reads it; empty: not there.
// Pure.
[[nodiscard]] std::string_view configured(std::string_view text, std::string_view variable);

}  // namespace robustrun::agent
