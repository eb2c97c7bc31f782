#pragma once
// Uploads a bundle over SFTP version 3 (draft-ietf-secsh-filexfer-02): folders, then files, then
// the list of hashes. A pure state machine over bytes; the caller moves the bytes.
//
// Up to kSftpWritesMax writes are under way at once. The server's answers are checked, and limited
// in size.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/push/bundle.h"

namespace robustrun::launcher {

inline constexpr std::string_view kManifestName = "MANIFEST";

class SftpUpload {
 public:
  // `folder`: the destination, relative to the home directory. It must not exist; its parents may.
  SftpUpload(std::string folder, std::shared_ptr<const PushBundle> bundle);

  // The first bytes to send.
  [[nodiscard]] std::string start() const;
  // Takes bytes from the server, and appends to `out` the bytes to send next. kProtocol: the server
  // is not understood; kOs: it cannot make a folder or file.
  base::Status feed(std::string_view bytes, std::string& out);
  [[nodiscard]] bool done() const { return version_ && at_ == steps_.size(); }

 private:
  struct Step {
    enum class Kind : std::uint8_t { kFolder, kMode, kFile };
    Kind kind = Kind::kFolder;
    std::string path;
    bool may_fail = false;
    std::string_view bytes;  // of a file
    std::uint32_t mode = 0700;
  };
  enum class Phase : std::uint8_t { kOpening, kWriting, kClosing };  // of a file

  base::Status take(std::string_view packet, std::string& out);
  base::Status take_status(std::uint32_t code, std::string_view message, std::string& out);
  void begin(std::string& out);
  void write_more(std::string& out);
  void next(std::string& out);
  std::string request(std::uint8_t type);
  static void send(std::string& out, std::string_view packet);

  std::shared_ptr<const PushBundle> bundle_;
  std::vector<Step> steps_;
  std::size_t at_ = 0;
  bool version_ = false;  // the server's version has come
  std::string received_;
  std::uint32_t next_id_ = 1;
  Phase phase_ = Phase::kOpening;
  std::string handle_;
  std::uint64_t offset_ = 0;
  std::size_t unanswered_ = 0;
};

}  // namespace robustrun::launcher
