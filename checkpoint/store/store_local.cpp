// Store where nodes have disks of their own.

#include <utility>

#include "checkpoint/format/limits.h"
#include "checkpoint/store/store.h"

namespace robustrun::checkpoint {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

Status Store::use_local(LocalDisks local) {
  if (rows_ > 0) {
    return fail(Errc::kInvalidArgument, "cannot save with parity on local disks");
  }
  if (local.node.empty()) local.node = "unnamed";
  if (local.node.size() > kNodeNameBytesMax) local.node.resize(kNodeNameBytesMax);
  StoreOptions options = options_;
  options.disk = unguarded_;
  options.local = std::move(local);
  Store opened = RR_TRY(open(std::move(options)));
  // All but rate_, which another thread may be about to limit.
  std::swap(options_, opened.options_);
  std::swap(threads_, opened.threads_);
  std::swap(unguarded_, opened.unguarded_);
  std::swap(guarded_, opened.guarded_);
  std::swap(writer_, opened.writer_);
  return {};
}

Result<DataSaved> Store::save_data(const PartContents& contents, const std::string& name,
                                   const std::vector<MountFolder>& folders,
                                   std::vector<std::string>& notes) {
  const std::size_t shared = options_.mounts.size();
  std::vector<MountFolder> used = folders;
  if (!options_.local.directories.empty()) {
    for (std::size_t i = 0; i < shared; ++i) used[i].folder.clear();
    auto saved = writer_.save({contents.shards, contents.sources, used, name, rate_.get()});
    for (std::size_t i = 0; saved && i < saved->files.size(); ++i) {
      saved->files[i].node = options_.local.node;
    }
    if (saved) return saved;
    notes.push_back("not on local disks, but on shared storage: " + saved.error().what);
    used = folders;
    for (std::size_t i = shared; i < used.size(); ++i) used[i].folder.clear();
  }
  return writer_.save({contents.shards, contents.sources, used, name, rate_.get()});
}

}  // namespace robustrun::checkpoint
