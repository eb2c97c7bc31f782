#pragma once
// Wraps the real disk and records every change, to compute what may be left when the power fails:
// of a file, what was synced and any part of the rest; of a folder, the entries up to its last sync
// and any number of the later changes, in order. The entry of a file belongs to its folder: syncing
// the file does not preserve it.

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "checkpoint/disk/disk.h"

namespace robustrun::test {

class RecordingDisk final : public checkpoint::Disk {
 public:
  struct Change {
    enum class Kind { kCreate, kWrite, kSync, kRename, kRemove, kFolder, kSyncFolder } kind;
    std::string path;
    std::string other;  // target of a rename, or bytes of a write
    int file = 0;
    std::uint64_t offset = 0;
  };

  [[nodiscard]] std::size_t changes() const { return log_.size(); }

  base::Result<std::unique_ptr<checkpoint::OutputFile>> create(const std::string& path,
                                                               std::uint64_t bytes) override {
    auto file = RR_TRY(checkpoint::posix_disk().create(path, bytes));
    const int id = add({Change::Kind::kCreate, path, "", 0, bytes});
    return std::make_unique<File>(*this, std::move(file), id);
  }
  base::Status rename(const std::string& from, const std::string& to) override {
    RR_TRY(checkpoint::posix_disk().rename(from, to));
    add({Change::Kind::kRename, from, to});
    return {};
  }
  base::Status remove(const std::string& path) override {
    RR_TRY(checkpoint::posix_disk().remove(path));
    add({Change::Kind::kRemove, path, ""});
    return {};
  }
  base::Status make_folder(const std::string& path) override {
    const bool there = std::filesystem::exists(path);
    RR_TRY(checkpoint::posix_disk().make_folder(path));
    if (!there) add({Change::Kind::kFolder, path, ""});
    return {};
  }
  base::Status sync_folder(const std::string& path) override {
    add({Change::Kind::kSyncFolder, path, ""});
    return {};
  }

  // Creates in `target` what is left of `roots` (under their last names) when the power failed
  // after the first `count` changes. `luck`: 0 loses everything not synced, 1 keeps everything,
  // else by chance.
  void leave(std::size_t count, int luck, base::Rng& rng, const std::vector<std::string>& roots,
             const std::string& target) const {
    Disk state;
    for (std::size_t i = 0; i < count; ++i) state.apply(log_[i], static_cast<int>(i));
    const auto kept = [&](std::size_t pending) {
      return luck == 0 ? 0 : luck == 1 ? pending : rng.below(pending + 1);
    };
    for (auto& [path, folder] : state.folders) folder.keep(kept(folder.pending.size()));
    for (auto& [id, file] : state.files) {
      for (const auto& [offset, bytes] : file.pending) {
        if (luck == 1 || (luck != 0 && rng.below(3) == 0)) {
          file.put(offset, bytes);
        } else if (luck != 0 && rng.below(2) == 0) {
          file.put(offset, bytes.substr(0, rng.below(bytes.size() + 1)));
        }
      }
    }
    for (const std::string& root : roots) {
      state.make(root, target + "/" + std::filesystem::path(root).filename().string());
    }
  }

 private:
  class File final : public checkpoint::OutputFile {
   public:
    File(RecordingDisk& disk, std::unique_ptr<checkpoint::OutputFile> file, int id)
        : disk_(disk), file_(std::move(file)), id_(id) {}
    base::Status write(std::uint64_t offset, std::string_view bytes) override {
      disk_.add({Change::Kind::kWrite, "", std::string(bytes), id_, offset});
      return file_->write(offset, bytes);
    }
    base::Status sync() override {
      disk_.add({Change::Kind::kSync, "", "", id_, 0});
      return {};
    }

   private:
    RecordingDisk& disk_;
    std::unique_ptr<checkpoint::OutputFile> file_;
    int id_;
  };

  struct Folder {
    std::map<std::string, int> entries;  // name -> file, or -1: a folder
    std::vector<std::vector<std::pair<std::string, int>>> pending;  // -2: gone
    void keep(std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        for (const auto& [name, what] : pending[i]) {
          if (what == -2) {
            entries.erase(name);
          } else {
            entries[name] = what;
          }
        }
      }
      pending.clear();
    }
  };
  struct Data {
    std::string bytes;
    std::vector<std::pair<std::uint64_t, std::string>> pending;
    void put(std::uint64_t offset, const std::string& what) {
      if (bytes.size() < offset + what.size()) bytes.resize(offset + what.size());
      bytes.replace(offset, what.size(), what);
    }
  };
  struct Disk {
    std::map<std::string, Folder> folders;
    std::map<int, Data> files;
    std::map<std::string, int> now;  // file at each path at present; -1: a folder

    Folder& around(const std::string& path) { return folders[checkpoint::folder_of(path)]; }
    static std::string last(const std::string& path) { return path.substr(path.rfind('/') + 1); }
    void apply(const Change& change, int index) {
      switch (change.kind) {
        case Change::Kind::kCreate:
          now[change.path] = index;
          files[index].bytes.assign(change.offset, '\0');
          around(change.path).pending.push_back({{last(change.path), index}});
          break;
        case Change::Kind::kWrite:
          files[change.file].pending.emplace_back(change.offset, change.other);
          break;
        case Change::Kind::kSync:
          for (const auto& [offset, bytes] : files[change.file].pending) {
            files[change.file].put(offset, bytes);
          }
          files[change.file].pending.clear();
          break;
        case Change::Kind::kRename:
          around(change.path)
              .pending.push_back(
                  {{last(change.path), -2}, {last(change.other), now.at(change.path)}});
          now[change.other] = now.at(change.path);
          now.erase(change.path);
          break;
        case Change::Kind::kRemove:
          around(change.path).pending.push_back({{last(change.path), -2}});
          now.erase(change.path);
          break;
        case Change::Kind::kFolder:
          around(change.path).pending.push_back({{last(change.path), -1}});
          break;
        case Change::Kind::kSyncFolder:
          folders[change.path].keep(folders[change.path].pending.size());
          break;
      }
    }
    void make(const std::string& path, const std::string& target) {
      std::filesystem::create_directories(target);
      for (const auto& [name, what] : folders[path].entries) {
        if (what == -1) {
          make(path + "/" + name, target + "/" + name);
        } else {
          std::ofstream(target + "/" + name, std::ios::binary) << files.at(what).bytes;
        }
      }
    }
  };

  int add(Change change) {
    const std::scoped_lock lock(mutex_);
    log_.push_back(std::move(change));
    return static_cast<int>(log_.size()) - 1;
  }

  std::mutex mutex_;
  std::vector<Change> log_;
};

}  // namespace robustrun::test
