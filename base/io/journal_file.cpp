#include "base/io/journal_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/io/fd.h"
#include "base/io/limits.h"

namespace robustrun::base {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "RRJOURNL";
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kKeyOffset = 16;
constexpr std::size_t kKeyBytes = 16;
constexpr std::size_t kHashBytes = 8;
constexpr std::size_t kRecordHeadBytes = 16;
constexpr std::uint64_t kLostRecordsMax = 1U << 24;

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

template <class T>
T get(std::string_view bytes, std::size_t offset) {
  T value;
  RR_ASSERT(offset + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The run key seeds the hash of every record, so that records of another journal never match.
std::uint64_t seed_of(std::string_view header) { return get<std::uint64_t>(header, kKeyOffset); }

std::string make_header() {
  std::string header(kMagic);
  put(header, kJournalFormatVersion);
  put(header, std::uint32_t{0});
  static_assert(kKeyBytes == 2 * sizeof(std::uint64_t));
  put(header, system_seed());
  put(header, system_seed());
  header.resize(kHeaderBytes - kHashBytes, '\0');
  put(header, hash64(header));
  return header;
}

std::string make_record(std::uint64_t seed, std::uint32_t kind, std::uint64_t sequence,
                        std::string_view payload) {
  std::string record;
  record.reserve(kRecordHeadBytes + payload.size() + kHashBytes);
  put(record, static_cast<std::uint32_t>(payload.size()));
  put(record, kind);
  put(record, sequence);
  record += payload;
  put(record, hash64(record, seed));
  return record;
}

// False: the header was cut while it was written, so no record can follow it.
Result<bool> check_header(const std::string& path, std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic.substr(0, bytes.size())) {
    return fail(Errc::kCorrupt, "cannot read " + path + ": it is not a robustrun journal");
  }
  if (bytes.size() < kHeaderBytes) return false;
  const std::size_t hashed = kHeaderBytes - kHashBytes;
  if (get<std::uint64_t>(bytes, hashed) != hash64(bytes.substr(0, hashed))) {
    return fail(Errc::kCorrupt, "cannot read " + path + ": the journal's header is damaged");
  }
  const auto version = get<std::uint32_t>(bytes, kMagic.size());
  if (version != kJournalFormatVersion) {
    return fail(Errc::kCorrupt, "cannot read " + path + ": it has journal format " +
                                    std::to_string(version) + ", this robustrun reads " +
                                    std::to_string(kJournalFormatVersion) +
                                    "; use the version that wrote it");
  }
  return true;
}

// Takes the record at the front of `bytes`; false when it is cut or damaged.
bool take_record(std::string_view& bytes, std::uint64_t seed, JournalRecord& record) {
  if (bytes.size() < kRecordHeadBytes + kHashBytes) return false;
  const std::size_t length = get<std::uint32_t>(bytes, 0);
  if (length > kJournalRecordBytesMax) return false;
  const std::size_t hashed = kRecordHeadBytes + length;
  if (bytes.size() < hashed + kHashBytes) return false;
  if (get<std::uint64_t>(bytes, hashed) != hash64(bytes.substr(0, hashed), seed)) return false;
  record.kind = get<std::uint32_t>(bytes, 4);
  record.sequence = get<std::uint64_t>(bytes, 8);
  record.payload = bytes.substr(kRecordHeadBytes, length);
  bytes.remove_prefix(hashed + kHashBytes);
  return true;
}

enum class Behind : std::uint8_t { kRecord, kNothing, kUnknown };

// Finds the first good record behind damage at the front of `bytes`, with a sequence number from
// `from` on, and drops what lies before it. kNothing: there is none, which makes it a torn tail.
// kUnknown: it would take too long to tell.
Behind skip_damage(std::string_view& bytes, std::uint64_t seed, std::uint64_t from,
                   std::size_t& hashed_left) {
  constexpr std::size_t kLeast = kRecordHeadBytes + kHashBytes;
  // A bound of the sequence number: almost no place in damaged bytes has to be hashed.
  const std::uint64_t last = from + kLostRecordsMax;
  for (std::size_t at = 0; at + kLeast <= bytes.size(); ++at) {
    const std::size_t length = get<std::uint32_t>(bytes, at);
    const auto sequence = get<std::uint64_t>(bytes, at + 8);
    if (length > kJournalRecordBytesMax || length > bytes.size() - at - kLeast) continue;
    if (sequence < from || sequence > last) continue;
    if (length + kLeast > hashed_left) return Behind::kUnknown;
    hashed_left -= length + kLeast;
    std::string_view rest = bytes.substr(at);
    if (JournalRecord found; !take_record(rest, seed, found)) continue;
    bytes.remove_prefix(at);
    return Behind::kRecord;
  }
  return Behind::kNothing;
}

// Whether `bytes`, all that is left of the file, is one record but for a damaged length.
bool has_wrong_length(std::string_view bytes, std::uint64_t seed, std::uint64_t sequence) {
  constexpr std::size_t kLeast = kRecordHeadBytes + kHashBytes;
  if (bytes.size() < kLeast || bytes.size() - kLeast > kJournalRecordBytesMax) return false;
  std::string mended;
  put(mended, static_cast<std::uint32_t>(bytes.size() - kLeast));
  mended += bytes.substr(mended.size());
  std::string_view rest = mended;
  JournalRecord record;
  return take_record(rest, seed, record) && record.sequence == sequence;
}

// The length of the damaged record at the front of `bytes`, a tail without good records, if it was
// once whole; 0 for one that was cut while it was written: that is shorter than its length says, or
// what the disk did not get is zeros. Random bytes are no record either: their length must be all
// that is left, or their sequence number be the next.
std::size_t damaged_record(std::string_view bytes, std::uint64_t sequence) {
  if (bytes.size() < kRecordHeadBytes + kHashBytes) return 0;
  const std::size_t hashed = kRecordHeadBytes + get<std::uint32_t>(bytes, 0);
  const std::size_t whole = hashed + kHashBytes;
  if (whole > bytes.size() || get<std::uint64_t>(bytes, hashed) == 0) return 0;
  return whole == bytes.size() || get<std::uint64_t>(bytes, 8) == sequence ? whole : 0;
}

// Takes what was once whole from the front of a tail without good records.
JournalDamage take_damaged_tail(std::string_view& bytes, std::uint64_t seed, std::uint64_t next) {
  JournalDamage damage;
  if (has_wrong_length(bytes, seed, next)) {
    damage.bytes = bytes.size();
    damage.records = 1;
  }
  for (std::size_t size;
       damage.bytes < bytes.size() &&
       (size = damaged_record(bytes.substr(damage.bytes), next + damage.records)) > 0;) {
    damage.bytes += size;
    ++damage.records;
  }
  bytes.remove_prefix(damage.bytes);
  return damage;
}

Result<JournalContents> parse(const std::string& path, std::string_view bytes) {
  JournalContents contents;
  if (!RR_TRY(check_header(path, bytes))) {
    contents.torn_bytes = bytes.size();
    return contents;
  }
  const std::uint64_t seed = seed_of(bytes);
  const std::size_t whole = bytes.size();
  std::size_t hashed_left = kJournalSearchBytesMax;
  bytes.remove_prefix(kHeaderBytes);
  std::uint64_t next = 0;  // sequence number
  while (true) {
    const std::string_view before = bytes;
    JournalRecord record;
    if (take_record(bytes, seed, record) && record.sequence == next) {
      contents.records.push_back(std::move(record));
      ++next;
      continue;
    }
    bytes = before;
    const Behind behind = skip_damage(bytes, seed, next, hashed_left);
    if (behind == Behind::kUnknown) {
      contents.damage.push_back({whole - before.size(), before.size(), 0});
      return contents;
    }
    if (behind == Behind::kNothing) break;
    const auto found = get<std::uint64_t>(bytes, 8);
    contents.damage.push_back({whole - before.size(), before.size() - bytes.size(), found - next});
    next = found;
  }
  const std::size_t tail = whole - bytes.size();
  if (JournalDamage damage = take_damaged_tail(bytes, seed, next); damage.records > 0) {
    damage.offset = tail;
    next += damage.records;
    contents.damage.push_back(damage);
  }
  contents.next_sequence = next;
  contents.torn_bytes = bytes.size();
  return contents;
}

// Writes all of `bytes` at `offset`; returns 0 or errno.
int write_at(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

}  // namespace

struct JournalWriter::State {
  std::string path;
  Fd fd;
  std::uint64_t end = 0;  // offset after the last whole record
  std::uint64_t seed = 0;
  std::uint64_t next_sequence = 0;
  bool name_synced = false;  // the folder's entry is on the disk, too

  Status write(std::string_view bytes);
};

Status JournalWriter::State::write(std::string_view bytes) {
  if (const int cause = write_at(fd.get(), bytes, end); cause != 0) {
    // Should this fail as well, the next append overwrites the rest, and readers stop there.
    static_cast<void>(::ftruncate(fd.get(), static_cast<off_t>(end)) == 0);
    return fail_errno("cannot write the journal " + path, cause);
  }
  end += bytes.size();
  return {};
}

Result<JournalContents> read_journal(const std::string& path) {
  return parse(path, RR_TRY(read_file(path, kJournalBytesMax)));
}

JournalWriter::JournalWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
JournalWriter::JournalWriter(JournalWriter&&) noexcept = default;
JournalWriter& JournalWriter::operator=(JournalWriter&&) noexcept = default;
JournalWriter::~JournalWriter() = default;

Result<JournalWriter> JournalWriter::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->fd = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!state->fd) return fail_errno("cannot open the journal " + path, errno);
  std::string bytes = RR_TRY(read_file(path, kJournalBytesMax));
  const JournalContents contents = RR_TRY(parse(path, bytes));
  if (const JournalDamage last = contents.damage.empty() ? JournalDamage{} : contents.damage.back();
      last.records == 0 && last.offset + last.bytes == bytes.size() && last.bytes > 0) {
    return fail(Errc::kCorrupt, "cannot continue the journal " + path + ": its damage from byte " +
                                    std::to_string(last.offset) +
                                    " on is too large to look for records behind it");
  }
  state->next_sequence = contents.next_sequence;
  if (bytes.size() < kHeaderBytes) {
    bytes = make_header();
    RR_TRY(state->write(bytes));
  } else {
    state->end = bytes.size() - contents.torn_bytes;
  }
  state->seed = seed_of(bytes);
  if (::ftruncate(state->fd.get(), static_cast<off_t>(state->end)) != 0) {
    return fail_errno("cannot cut the torn end of the journal " + path, errno);
  }
  return JournalWriter(std::move(state));
}

Status JournalWriter::append(std::uint32_t kind, std::string_view payload) {
  if (payload.size() > kJournalRecordBytesMax) {
    return fail(Errc::kLimit, "cannot write the journal " + state_->path + ": a record of " +
                                  std::to_string(payload.size()) + " bytes is too long");
  }
  RR_TRY(state_->write(make_record(state_->seed, kind, state_->next_sequence, payload)));
  ++state_->next_sequence;
  return {};
}

Status JournalWriter::sync() {
  if (::fdatasync(state_->fd.get()) != 0) {
    return fail_errno("cannot write the journal " + state_->path + " to the disk", errno);
  }
  if (state_->name_synced) return {};
  const std::size_t slash = state_->path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : state_->path.substr(0, slash + 1);
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    return fail_errno("cannot write the folder " + folder + " to the disk", errno);
  }
  state_->name_synced = true;
  return {};
}

}  // namespace robustrun::base
