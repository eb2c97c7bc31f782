#include "cli/plan/startup.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "agent/image/container_command.h"
#include "base/core/text.h"
#include "bootstrap/store/source_digest.h"

namespace robustrun::cli {

std::string cache_folder(const std::string& chosen, const Surroundings& around) {
  if (chosen != "auto") {
    return chosen.starts_with('/') ? chosen : around.working_directory + "/" + chosen;
  }
  // Relative paths are ignored (XDG Base Directory Specification 0.8).
  const std::string caches = around.variable("XDG_CACHE_HOME").value_or("");
  if (caches.starts_with('/')) return caches + "/robustrun";
  const std::string home = around.variable("HOME").value_or("");
  return home.starts_with('/') ? home + "/.cache/robustrun" : "";
}

namespace {

using base::Errc;
using wire::ContainerRuntime;

bool is_url(std::string_view image) {
  return image.starts_with("http://") || image.starts_with("https://");
}

ContainerRuntime runtime_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ContainerRuntime>, 4> kNames = {
      {{"none", ContainerRuntime::kNone},
       {"bwrap", ContainerRuntime::kBwrap},
       {"apptainer", ContainerRuntime::kApptainer},
       {"enroot", ContainerRuntime::kEnroot}}};
  for (const auto& [known, runtime] : kNames) {
    if (known == name) return runtime;
  }
  return ContainerRuntime::kAuto;
}

base::Status check_image_file(const Settings& settings, const Surroundings& around,
                              const std::string& path) {
  switch (around.machine->kind(path)) {
    case PathKind::kMissing:
      return cannot_use(settings, OptionId::kImage, Errc::kNotFound,
                        "No such file or directory; check the path");
    case PathKind::kDirectory:
    case PathKind::kEmptyDirectory:
      return cannot_use(settings, OptionId::kImage,
                        "it is a directory; make an image of it with mksquashfs (docs/images.md)");
    case PathKind::kUnreadableFile:
      return cannot_use(settings, OptionId::kImage, Errc::kPermission,
                        "permission denied; make it readable (chmod u+r)");
    case PathKind::kFile:
    case PathKind::kSocket:
    case PathKind::kOther: return {};
  }
  return {};
}

base::Status plan_image(const Settings& settings, const Surroundings& around, bool is_here,
                        wire::WorkerTemplate& workers) {
  const std::string image = settings.text(OptionId::kImage);
  if (image.empty()) {
    for (const OptionId id :
         {OptionId::kImageMode, OptionId::kContainerRuntime, OptionId::kContainerMounts}) {
      if (settings.given(id)) {
        return cannot_use(settings, id, "it needs --image");
      }
    }
    return {};
  }
  const std::string mode = settings.text(OptionId::kImageMode);
  workers.image =
      is_url(image) || image.starts_with('/') ? image : around.working_directory + "/" + image;
  if (mode == "pagecache" && is_url(image)) {
    return cannot_use(settings, OptionId::kImageMode,
                      "an image at a URL is on no file system; use auto or blocks");
  }
  if (!is_url(image) && image.find("://") != std::string::npos) {
    return cannot_use(settings, OptionId::kImage, "expected a path, or http:// or https://");
  }
  if (const auto parts = bootstrap::split_digest(image); !parts) {
    return cannot_use(settings, OptionId::kImage, parts.error().what);
  }
  if (!is_url(image) && image.find("#sha256=") != std::string::npos) {
    return cannot_use(settings, OptionId::kImage, "only an image at a URL has a digest");
  }
  if (!is_url(image) && is_here) RR_TRY(check_image_file(settings, around, workers.image));
  const bool has_blocks = mode == "blocks" || (mode == "auto" && is_url(image));
  if (has_blocks) workers.image_mode = wire::ImageMode::kBlocks;
  if (has_blocks && workers.cache_directory.empty()) {
    return cannot_use(settings, OptionId::kImage,
                      "there is no cache for its blocks: HOME is not set; name a folder with "
                      "--cache-dir");
  }
  workers.container = runtime_of(settings.text(OptionId::kContainerRuntime));
  const std::string mounts = settings.text(OptionId::kContainerMounts);
  for (const std::string_view mount : base::split(mounts, ',')) {
    if (mount.empty()) continue;
    const auto parsed = agent::parse_container_mount(std::string(mount));
    if (!parsed) return cannot_use(settings, OptionId::kContainerMounts, parsed.error().what);
    workers.container_mounts.emplace_back(mount);
  }
  if (!workers.container_mounts.empty() && workers.container == ContainerRuntime::kNone) {
    return cannot_use(settings, OptionId::kContainerMounts,
                      "without a container workers see the whole node anyway");
  }
  return {};
}

}  // namespace

bool may_be_container(const Settings& settings) {
  return settings.has(OptionId::kImage) && settings.text(OptionId::kContainerRuntime) != "none";
}

base::Status plan_startup(const Settings& settings, const Surroundings& around, bool is_here,
                          wire::WorkerTemplate& workers) {
  workers.cache_directory = cache_folder(settings.text(OptionId::kCacheDir), around);
  workers.cache_max_gib =
      static_cast<std::uint64_t>(settings.integer(OptionId::kCacheMax).value_or(0));
  const std::string prefetch = settings.text(OptionId::kPrefetch);
  if (prefetch != "off" && !workers.cache_directory.empty()) {
    workers.prefetch = prefetch == "on" ? wire::PrefetchMode::kOn : wire::PrefetchMode::kAuto;
  }
  return plan_image(settings, around, is_here, workers);
}

}  // namespace robustrun::cli
