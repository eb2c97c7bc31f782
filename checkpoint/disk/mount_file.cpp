#include "checkpoint/disk/mount_file.h"

#include <cerrno>

#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {

using base::Status;

void make_file(MountThreads& threads, Disk& disk, MountFile& file, const MountFileName& name,
               std::uint64_t bytes) {
  file.at_work = threads.lanes();
  for (std::size_t round = name.round; round <= name.round + kTakenNamesMax; ++round) {
    file.name = name.stem + "-m" + std::to_string(file.mount) +
                (round == 0 ? "" : "-" + std::to_string(round)) + name.end;
    file.path = name.folder + "/" + file.name;
    auto made = threads.call(file.mount,
                             [&disk, path = file.path, bytes] { return disk.create(path, bytes); });
    file.made = made.has_value();
    if (made) {
      file.output = std::move(*made);
      file.status = {};
      return;
    }
    file.status = std::unexpected(std::move(made).error());
    if (file.status.error().os_errno != EEXIST) return;
  }
}

bool end_lane(MountFile& file, Disk& disk, LifeSign& sign) {
  if (--file.at_work > 0 || file.failed) return false;
  sign.enter();
  Status synced = file.output->sync();
  if (synced) synced = disk.sync_folder(folder_of(file.path));
  file.output.reset();
  if (!sign.leave()) return false;
  file.synced = std::move(synced);
  return true;
}

void give_up_file(MountThreads& threads, Disk& disk, std::shared_ptr<MountFile> file) {
  const std::size_t mount = file->mount;
  (void)threads.call(mount, [&disk, file = std::move(file)]() -> Status {
    if (!file->made) return {};
    file->output.reset();
    return disk.remove(file->path);
  });
}

}  // namespace robustrun::checkpoint
