#pragma once
// Wraps the real disk and makes every change below a chosen folder (to paths with a chosen ending,
// if given) wait until the test releases it, like a file server that is gone.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "checkpoint/disk/disk.h"

namespace robustrun::test {

class BlockingDisk final : public checkpoint::Disk {
 public:
  // State shared by the calls, which may outlive the disk's user, but not the disk.
  void hang(std::string folder, std::string suffix = "") {
    const std::scoped_lock lock(mutex_);
    folder_ = std::move(folder);
    suffix_ = std::move(suffix);
  }
  void let_go() {
    hang("");
    wake_.notify_all();
  }
  // Number of calls that hang now.
  [[nodiscard]] int hanging() {
    const std::scoped_lock lock(mutex_);
    return hanging_;
  }

  base::Result<std::unique_ptr<checkpoint::OutputFile>> create(const std::string& path,
                                                               std::uint64_t bytes) override {
    wait(path);
    auto file = RR_TRY(checkpoint::posix_disk().create(path, bytes));
    return std::make_unique<File>(*this, std::move(file), path);
  }
  base::Status rename(const std::string& from, const std::string& to) override {
    wait(to);
    return checkpoint::posix_disk().rename(from, to);
  }
  base::Status remove(const std::string& path) override {
    wait(path);
    return checkpoint::posix_disk().remove(path);
  }
  base::Status make_folder(const std::string& path) override {
    wait(path);
    return checkpoint::posix_disk().make_folder(path);
  }
  base::Status sync_folder(const std::string& path) override {
    wait(path);
    return checkpoint::posix_disk().sync_folder(path);
  }
  // Only writes of data hang.
  bool data_alone = false;

 private:
  class File final : public checkpoint::OutputFile {
   public:
    File(BlockingDisk& disk, std::unique_ptr<checkpoint::OutputFile> file, std::string path)
        : disk_(disk), file_(std::move(file)), path_(std::move(path)) {}
    base::Status write(std::uint64_t offset, std::string_view bytes) override {
      disk_.wait(path_, true);
      return file_->write(offset, bytes);
    }
    base::Status sync() override {
      disk_.wait(path_);
      return file_->sync();
    }

   private:
    BlockingDisk& disk_;
    std::unique_ptr<checkpoint::OutputFile> file_;
    std::string path_;
  };

  void wait(const std::string& path, bool data = false) {
    std::unique_lock lock(mutex_);
    const auto held = [&] {
      return !folder_.empty() && path.starts_with(folder_) && path.ends_with(suffix_) &&
             (data || !data_alone);
    };
    if (!held()) return;
    ++hanging_;
    wake_.wait(lock, [&] { return !held(); });
    --hanging_;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::string folder_;
  std::string suffix_;
  int hanging_ = 0;
};

}  // namespace robustrun::test
