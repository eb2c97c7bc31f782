#include "launcher/push/sftp.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "launcher/limits.h"
#include "launcher/ssh_encoding.h"

namespace robustrun::launcher {
namespace {

constexpr std::uint8_t kInit = 1;
constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kOpen = 3;
constexpr std::uint8_t kClose = 4;
constexpr std::uint8_t kWrite = 6;
constexpr std::uint8_t kSetStat = 9;
constexpr std::uint8_t kMakeFolder = 14;
constexpr std::uint8_t kStatus = 101;
constexpr std::uint8_t kHandle = 102;

constexpr std::uint32_t kOurVersion = 3;
constexpr std::uint32_t kStatusOk = 0;
constexpr std::uint32_t kStatusFailure = 4;
constexpr std::uint32_t kOpenNew = 0x2 | 0x8 | 0x20;  // write, create, exclusively
constexpr std::uint32_t kHasMode = 0x4;
constexpr std::size_t kMessageBytesMax = 200;

std::unexpected<base::Error> garbled(const std::string& why) {
  return base::fail(base::Errc::kProtocol, "its SFTP server is not understood: " + why);
}

// Adds the folders of a file: "a/b/c" has "a" and "a/b".
void add_folders(const std::string& name, std::set<std::string>& folders) {
  for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
    folders.insert(name.substr(0, at));
  }
}

}  // namespace

SftpUpload::SftpUpload(std::string folder, std::shared_ptr<const PushBundle> bundle)
    : bundle_(std::move(bundle)) {
  using Kind = Step::Kind;
  std::set<std::string> parents;
  add_folders(folder, parents);
  for (const std::string& parent : parents) steps_.push_back({Kind::kFolder, parent, true, {}});
  // A parent may exist with other rights; the outermost one is not ours to change.
  if (parents.size() > 1) steps_.push_back({Kind::kMode, *parents.rbegin(), true, {}});
  steps_.push_back({Kind::kFolder, folder, false, {}});
  std::set<std::string> folders;
  for (const PushFile& file : bundle_->files) add_folders(file.name, folders);
  const std::string below = folder + "/";
  for (const std::string& inner : folders) {
    steps_.push_back({Kind::kFolder, below + inner, false, {}});
  }
  for (const PushFile& file : bundle_->files) {
    steps_.push_back(
        {Kind::kFile, below + file.name, false, file.bytes, file.executable ? 0700U : 0600U});
  }
  steps_.push_back(
      {Kind::kFile, folder + "/" + std::string(kManifestName), false, bundle_->manifest, 0600});
}

std::string SftpUpload::start() const {
  std::string packet(1, static_cast<char>(kInit));
  put_u32(packet, kOurVersion);
  std::string out;
  send(out, packet);
  return out;
}

void SftpUpload::send(std::string& out, std::string_view packet) { put_text(out, packet); }

std::string SftpUpload::request(std::uint8_t type) {
  std::string packet(1, static_cast<char>(type));
  put_u32(packet, next_id_++);
  return packet;
}

base::Status SftpUpload::feed(std::string_view bytes, std::string& out) {
  received_ += bytes;
  while (true) {
    SshReader reader(received_);
    const auto size = reader.u32();
    if (!size) return {};
    if (*size == 0 || *size > kSftpPacketBytesMax) {
      return garbled("it sent a packet of " + std::to_string(*size) + " bytes");
    }
    if (reader.rest().size() < *size) return {};
    const std::string packet(reader.rest().substr(0, *size));
    received_.erase(0, sizeof(std::uint32_t) + *size);
    RR_TRY(take(packet, out));
  }
}

base::Status SftpUpload::take(std::string_view packet, std::string& out) {
  SshReader reader(packet);
  const std::uint8_t type = reader.u8().value_or(0);
  if (!version_) {
    const auto version = reader.u32();
    if (type != kVersion || !version || *version < kOurVersion) return garbled("no version 3");
    version_ = true;
    begin(out);
    return {};
  }
  const auto id = reader.u32();
  if (!id || *id == 0 || *id >= next_id_) return garbled("an answer without a question");
  if (done()) return garbled("an answer after the last one");
  if (type == kHandle && steps_[at_].kind == Step::Kind::kFile && phase_ == Phase::kOpening) {
    handle_ = reader.text().value_or("");
    phase_ = Phase::kWriting;
    write_more(out);
    return {};
  }
  const auto code = reader.u32();
  if (type != kStatus || !code) return garbled("an answer of type " + std::to_string(type));
  return take_status(*code, reader.text().value_or(""), out);
}

base::Status SftpUpload::take_status(std::uint32_t code, std::string_view message,
                                     std::string& out) {
  const Step& step = steps_[at_];
  if (code != kStatusOk && !step.may_fail) {
    std::string cause = base::printable(message.substr(0, kMessageBytesMax));
    if (cause.empty()) cause = "SFTP error " + std::to_string(code);
    // SFTP has no status code for it.
    if (code == kStatusFailure) cause += " (a full disk or quota looks like this)";
    return base::fail(base::Errc::kOs,
                      (step.kind == Step::Kind::kFile ? "cannot write ~/" : "cannot make ~/") +
                          step.path + ": " + cause);
  }
  if (step.kind != Step::Kind::kFile || phase_ == Phase::kClosing) {
    next(out);
    return {};
  }
  if (phase_ == Phase::kOpening || unanswered_ == 0) return garbled("a file without a handle");
  --unanswered_;
  write_more(out);
  return {};
}

void SftpUpload::next(std::string& out) {
  ++at_;
  if (at_ < steps_.size()) begin(out);
}

void SftpUpload::begin(std::string& out) {
  const Step& step = steps_[at_];
  phase_ = Phase::kOpening;
  offset_ = 0;
  std::string packet = request(step.kind == Step::Kind::kFolder ? kMakeFolder
                               : step.kind == Step::Kind::kMode ? kSetStat
                                                                : kOpen);
  put_text(packet, step.path);
  if (step.kind == Step::Kind::kFile) put_u32(packet, kOpenNew);
  put_u32(packet, kHasMode);
  put_u32(packet, step.mode);
  send(out, packet);
}

void SftpUpload::write_more(std::string& out) {
  const std::string_view bytes = steps_[at_].bytes;
  while (offset_ < bytes.size() && unanswered_ < kSftpWritesMax) {
    const std::string_view chunk = bytes.substr(static_cast<std::size_t>(offset_), kSftpChunkBytes);
    std::string packet = request(kWrite);
    put_text(packet, handle_);
    put_u64(packet, offset_);
    put_text(packet, chunk);
    send(out, packet);
    offset_ += chunk.size();
    ++unanswered_;
  }
  if (unanswered_ > 0) return;
  std::string packet = request(kClose);
  put_text(packet, handle_);
  send(out, packet);
  phase_ = Phase::kClosing;
}

}  // namespace robustrun::launcher
