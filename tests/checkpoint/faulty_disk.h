#pragma once
// Wraps the real disk and stops at a chosen change, as if the process had been killed there (the
// change itself may have happened in part), or makes chosen folders full.

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "checkpoint/disk/disk.h"

namespace robustrun::test {

class FaultyDisk final : public checkpoint::Disk {
 public:
  // The change number `at` from now (0: the next) is the last one; with `torn`, only half of it
  // happens.
  void stop_at(std::uint64_t at, bool torn) {
    count_ = 0;
    stop_at_ = at;
    torn_ = torn;
  }
  void go_on() { stop_at(UINT64_MAX, false); }
  [[nodiscard]] std::uint64_t changes() const { return count_; }
  [[nodiscard]] bool stopped() const { return count_ > stop_at_; }
  // Writes fail with `cause`: to data files below this folder, and to all files with this ending.
  std::string full_folder;
  std::string full_suffix;
  int cause = ENOSPC;
  std::function<void()> before_next_rename;  // called once, as another process's act

  base::Result<std::unique_ptr<checkpoint::OutputFile>> create(const std::string& path,
                                                               std::uint64_t bytes) override {
    const Fate fate = next();
    if (fate == Fate::kNever) return dead();
    auto file = RR_TRY(checkpoint::posix_disk().create(path, bytes));
    if (fate == Fate::kLast) return dead();
    return std::make_unique<File>(*this, std::move(file), path);
  }
  base::Status rename(const std::string& from, const std::string& to) override {
    if (const auto others_act = std::exchange(before_next_rename, nullptr)) others_act();
    return with_fate([&] { return checkpoint::posix_disk().rename(from, to); });
  }
  base::Status remove(const std::string& path) override {
    return with_fate([&] { return checkpoint::posix_disk().remove(path); });
  }
  base::Status make_folder(const std::string& path) override {
    return with_fate([&] { return checkpoint::posix_disk().make_folder(path); });
  }
  base::Status sync_folder(const std::string& path) override {
    return with_fate([&] { return checkpoint::posix_disk().sync_folder(path); });
  }

 private:
  enum class Fate { kDone, kLast, kNever };

  class File final : public checkpoint::OutputFile {
   public:
    File(FaultyDisk& disk, std::unique_ptr<checkpoint::OutputFile> file, std::string path)
        : disk_(disk), file_(std::move(file)), path_(std::move(path)) {}
    base::Status write(std::uint64_t offset, std::string_view bytes) override {
      const std::string& full = disk_.full_folder;
      const std::string& suffix = disk_.full_suffix;
      if ((!full.empty() && path_.starts_with(full) && is_data(path_)) ||
          (!suffix.empty() && path_.ends_with(suffix))) {
        return base::fail_errno("cannot write " + path_, disk_.cause);
      }
      const Fate fate = disk_.next();
      if (fate == Fate::kNever) return dead();
      if (fate == Fate::kDone) return file_->write(offset, bytes);
      (void)file_->write(offset, bytes.substr(0, bytes.size() / 2));
      return dead();
    }
    base::Status sync() override {
      return disk_.with_fate([&] { return file_->sync(); });
    }

   private:
    FaultyDisk& disk_;
    std::unique_ptr<checkpoint::OutputFile> file_;
    std::string path_;
  };

  static bool is_data(const std::string& path) {
    return path.find(".safetensors") != std::string::npos || path.ends_with(".rrparity");
  }
  static std::unexpected<base::Error> dead() {
    return base::fail(base::Errc::kCancelled, "the process is dead");
  }
  Fate next() {
    const std::uint64_t now = count_++;
    if (now < stop_at_) return Fate::kDone;
    return now == stop_at_ && torn_ ? Fate::kLast : Fate::kNever;
  }
  template <class Change>
  base::Status with_fate(Change change) {
    const Fate fate = next();
    if (fate == Fate::kNever) return dead();
    base::Status status = change();
    if (fate == Fate::kLast) return dead();
    return status;
  }

  std::atomic<std::uint64_t> count_ = 0;
  std::uint64_t stop_at_ = UINT64_MAX;
  bool torn_ = false;
};

}  // namespace robustrun::test
