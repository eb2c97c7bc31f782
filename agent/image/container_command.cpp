#include "agent/image/container_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/image/limits.h"
#include "agent/node/environment.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

using base::Errc;

std::string without_end(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string folder_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "" : path.substr(0, slash);
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// Folders of a system and its packages: the image has its own.
bool is_of_image(const std::string& folder) {
  const std::string first = folder.substr(0, folder.find('/', 1));
  for (const std::string_view name :
       {"/usr", "/opt", "/etc", "/bin", "/sbin", "/var", "/lib", "/lib32", "/lib64", "/libx32"}) {
    if (first == name) return true;
  }
  return false;
}

class Binds {
 public:
  // Under the same name. The root itself is the image's.
  void add(const std::string& path, bool read_only = false, bool is_optional = false) {
    if (!path.starts_with('/') || path == "/") return;
    add(ContainerBind{without_end(path), without_end(path), read_only, is_optional});
  }
  void add(ContainerBind bind) {
    std::erase_if(binds_, [&](const auto& other) { return other.target == bind.target; });
    binds_.push_back(std::move(bind));
  }

  std::vector<ContainerBind> take() {
    std::ranges::stable_sort(binds_, {}, [](const auto& bind) { return bind.target.size(); });
    std::vector<ContainerBind> kept;
    for (ContainerBind& bind : binds_) {
      const auto shows = [&](const ContainerBind& outer) {
        if (!is_below(bind.target, outer.target) || outer.is_optional) return false;
        return bind.source == outer.source + bind.target.substr(outer.target.size()) &&
               bind.read_only == outer.read_only;
      };
      if (std::ranges::none_of(kept, shows)) kept.push_back(std::move(bind));
    }
    return kept;
  }

 private:
  std::vector<ContainerBind> binds_;
};

// Lays out the image's entries around the targets of binds.
class Cover {
 public:
  Cover(const ContainerCommand& container, const ListImage& list)
      : container_(container), list_(list) {}

  base::Status cover(const std::string& folder) {
    for (const ImageEntry& entry : list_(folder.empty() ? "/" : folder)) {
      if (++entries_ > kContainerEntriesMax) {
        return base::fail(Errc::kLimit,
                          fmt::format("cannot make a container: more than {} entries of the image "
                                      "lie beside folders of this machine",
                                      kContainerEntriesMax));
      }
      const std::string path = folder + "/" + entry.name;
      if (is_target(path)) continue;
      if (entry.kind == ImageEntry::Kind::kLink) {
        if (!has_target_below(path)) add({"--symlink", entry.link, path});
      } else if (entry.kind == ImageEntry::Kind::kFolder && lacks_target_below(path)) {
        add({"--dir", path});
        RR_TRY(cover(path));
      } else {
        add({"--ro-bind", container_.root + path, path});
      }
    }
    return {};
  }

  std::vector<std::string> take() { return std::move(argv_); }

 private:
  void add(std::initializer_list<std::string> words) {
    argv_.insert(argv_.end(), words.begin(), words.end());
  }
  [[nodiscard]] bool is_target(const std::string& path) const {
    return std::ranges::any_of(container_.binds,
                               [&](const auto& bind) { return bind.target == path; });
  }
  [[nodiscard]] bool has_target_below(const std::string& path) const {
    return std::ranges::any_of(container_.binds,
                               [&](const auto& bind) { return is_below(bind.target, path); });
  }
  [[nodiscard]] bool lacks_target_below(const std::string& path) const {
    return std::ranges::any_of(container_.binds, [&](const auto& bind) {
      return is_below(bind.target, path) && !has(bind.target);
    });
  }
  [[nodiscard]] bool has(const std::string& path) const {
    const std::string folder = folder_of_file(path);
    const std::string_view name = std::string_view(path).substr(folder.size() + 1);
    if (!folder.empty() && !is_folder(folder)) return false;
    return std::ranges::any_of(list_(folder.empty() ? "/" : folder), [&](const auto& entry) {
      return entry.name == name && entry.kind != ImageEntry::Kind::kLink;
    });
  }
  // Not through a link, which may lead anywhere.
  [[nodiscard]] bool is_folder(const std::string& path) const {
    const std::string folder = folder_of_file(path);
    const std::string_view name = std::string_view(path).substr(folder.size() + 1);
    if (!folder.empty() && !is_folder(folder)) return false;
    return std::ranges::any_of(list_(folder.empty() ? "/" : folder), [&](const auto& entry) {
      return entry.name == name && entry.kind == ImageEntry::Kind::kFolder;
    });
  }

  const ContainerCommand& container_;
  const ListImage& list_;
  std::vector<std::string> argv_;
  std::size_t entries_ = 0;
};

}  // namespace

base::Result<ContainerBind> parse_container_mount(const std::string& text) {
  const auto parts = base::split(text, ':');
  ContainerBind bind;
  bind.source = without_end(std::string(parts[0]));
  bind.target = parts.size() > 1 ? without_end(std::string(parts[1])) : bind.source;
  bind.read_only = parts.size() == 3 && parts[2] == "ro";
  const bool is_known = parts.size() < 3 || parts[2] == "ro" || parts[2] == "rw";
  const bool is_one = parts.size() <= 3 && is_known && bind.source.starts_with('/') &&
                      bind.target.starts_with('/') && bind.target != "/";
  if (is_one) return bind;
  return base::fail(Errc::kInvalidArgument,
                    fmt::format("'{}' is not a mount: SOURCE:TARGET[:ro] with absolute paths",
                                base::printable(text)));
}

base::Result<std::vector<ContainerBind>> container_binds(const wire::WorkerTemplate& workers,
                                                         const ContainerNeeds& needs) {
  Binds binds;
  // A list of dependencies may name files beside it; but /etc and the like are the image's.
  const std::string beside = folder_of_file(workers.deps);
  if (!is_of_image(beside)) binds.add(beside, false, true);
  for (const char* path : {"/dev", "/proc", "/tmp"}) binds.add(path);
  binds.add("/sys", true);
  for (const char* path : {"/etc/resolv.conf", "/etc/hosts", "/etc/passwd", "/etc/group"}) {
    binds.add(path, true, true);
  }
  const Environment environment(workers.environment);
  binds.add(environment.get("HOME").value_or(""), false, true);
  binds.add(environment.get("TMPDIR").value_or(""), false, true);
  binds.add(workers.cache_directory, false, true);
  binds.add(workers.log_directory, false, true);
  binds.add(workers.working_directory, false, workers.code.has_value());  // does not exist yet
  binds.add(needs.program_folder, false, true);
  binds.add(folder_of_file(workers.python_path), true);  // our libraries lie beside it
  binds.add(needs.python, true, true);
  binds.add(needs.shim, true);
  binds.add(needs.runtime_directory);
  binds.add(needs.mounts_directory);
  for (const std::string& mount : workers.container_mounts) {
    binds.add(RR_TRY(parse_container_mount(mount)));
  }
  return binds.take();
}

base::Result<std::vector<std::string>> bwrap_argv(const ContainerCommand& container,
                                                  const ListImage& list,
                                                  const std::vector<std::string>& command) {
  std::vector<std::string> argv = {container.program, "--die-with-parent"};
  Cover cover(container, list);
  RR_TRY(cover.cover(""));
  std::ranges::move(cover.take(), std::back_inserter(argv));
  for (const ContainerBind& bind : container.binds) {
    // Devices work only through the first mount.
    std::string option = bind.read_only ? "--ro-bind" : "--dev-bind";
    if (bind.is_optional) option += "-try";
    argv.insert(argv.end(), {option, bind.source, bind.target});
  }
  argv.insert(argv.end(), {"--remount-ro", "/", "--chdir", "/", "--"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

std::vector<std::string> apptainer_prefix(const ContainerCommand& container,
                                          const std::string& working_directory, bool has_gpus) {
  std::vector<std::string> argv = {container.program, "exec", "--no-home", "--pwd",
                                   working_directory};
  if (has_gpus) argv.emplace_back("--nv");
  for (const ContainerBind& bind : container.binds) {
    argv.insert(argv.end(), {"--bind", fmt::format("{}:{}:{}", bind.source, bind.target,
                                                   bind.read_only ? "ro" : "rw")});
  }
  argv.push_back(container.root);
  return argv;
}

std::vector<std::string> enroot_prefix(const ContainerCommand& container,
                                       const std::string& working_directory,
                                       const std::vector<std::string>& environment) {
  const std::string data = folder_of_file(container.root);
  std::vector<std::string> argv = {"/usr/bin/env", "ENROOT_DATA_PATH=" + data, container.program,
                                   "start"};
  for (const ContainerBind& bind : container.binds) {
    argv.insert(argv.end(),
                {"--mount", fmt::format("{}:{}:none:rbind,x-create=auto,{}", bind.source,
                                        bind.target, bind.read_only ? "ro" : "rw")});
  }
  for (const std::string& name : environment) argv.insert(argv.end(), {"--env", name});
  // enroot itself has no working directory, so a shell in the container changes to it.
  argv.insert(argv.end(), {container.root.substr(data.size() + 1), "/bin/sh", "-c",
                           "cd \"$0\" && exec \"$@\"", working_directory});
  return argv;
}

}  // namespace robustrun::agent
