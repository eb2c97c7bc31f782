// Layout: u64 wish, a step + 1, or 0. From byte 64 on, 64 bytes for each slot: u32 state, u32 zero,
// u64 step + 1 of its copy, or 0.
//
// Every access is sequentially consistent. The worker frees its slot and then checks for a wish;
// the agent writes the wish and then checks for free slots. So at least one of them sees the other.

#include "checkpoint/memory/hold_board.h"

#include <sys/mman.h>

#include <atomic>
#include <utility>

#include "checkpoint/memory/memory_area.h"

namespace robustrun::checkpoint {
namespace {

constexpr std::uint32_t kSlotFree = 0;
constexpr std::uint32_t kSlotHeld = 1;
constexpr std::uint32_t kSlotFilling = 2;
constexpr std::size_t kWishAt = 0;
constexpr std::size_t kSlotWordsAt = 64;
constexpr std::size_t kSlotWordsBytes = 64;
constexpr std::size_t kStepAt = 8;

template <class T>
bool replaces(T& word, T expected, T wanted) {
  return std::atomic_ref(word).compare_exchange_strong(expected, wanted);
}

}  // namespace

HoldBoard::HoldBoard(std::span<char> words, std::size_t slots) : words_(words), slots_(slots) {
  RR_ASSERT(words.size() == kBytes && kSlotWordsAt + slots * kSlotWordsBytes <= kBytes);
}

std::uint32_t& HoldBoard::state_of(std::size_t slot) const {
  RR_ASSERT(slot < slots_);
  return word<std::uint32_t>(kSlotWordsAt + slot * kSlotWordsBytes);
}

std::uint64_t& HoldBoard::step_of(std::size_t slot) const {
  RR_ASSERT(slot < slots_);
  return word<std::uint64_t>(kSlotWordsAt + slot * kSlotWordsBytes + kStepAt);
}

void HoldBoard::begin_writer() {
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    replaces(state_of(slot), kSlotFilling, kSlotFree);  // of a worker that died while filling it
    std::atomic_ref(step_of(slot)).store(0);
  }
}

bool HoldBoard::begin_filling(std::size_t slot) {
  if (!replaces(state_of(slot), kSlotFree, kSlotFilling)) return false;
  std::atomic_ref(step_of(slot)).store(0);
  return true;
}

bool HoldBoard::take_wish(std::uint64_t step) const {
  const std::uint64_t wish = std::atomic_ref(word<std::uint64_t>(kWishAt)).load();
  return wish != 0 && step >= wish - 1 && replaces(word<std::uint64_t>(kWishAt), wish, {});
}

void HoldBoard::end_filling(std::size_t slot, std::optional<std::uint64_t> step) {
  if (step) std::atomic_ref(step_of(slot)).store(*step + 1);
  std::atomic_ref(state_of(slot)).store(kSlotFree);
  if (step && take_wish(*step)) replaces(state_of(slot), kSlotFree, kSlotHeld);
}

void HoldBoard::forget(std::size_t slot) { std::atomic_ref(step_of(slot)).store(0); }

void HoldBoard::wish(std::uint64_t from_step) {
  std::atomic_ref(word<std::uint64_t>(kWishAt)).store(from_step + 1);
}

void HoldBoard::wish_nothing() { std::atomic_ref(word<std::uint64_t>(kWishAt)).store(0); }

// Takes the oldest matching copy, so that all ranks choose the same step if the wish came in time.
void HoldBoard::hold_what_is_there() {
  const std::uint64_t wish = std::atomic_ref(word<std::uint64_t>(kWishAt)).load();
  if (wish == 0) return;
  std::optional<std::size_t> oldest;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const auto there = step(slot);
    if (!there || *there < wish - 1 || std::atomic_ref(state_of(slot)).load() != kSlotFree)
      continue;
    if (!oldest || *there < step(*oldest)) oldest = slot;
  }
  if (!oldest || !replaces(word<std::uint64_t>(kWishAt), wish, {})) return;
  if (!replaces(state_of(*oldest), kSlotFree, kSlotHeld)) return this->wish(wish - 1);
  const auto held = step(*oldest);
  if (held && *held >= wish - 1) return;
  release(*oldest);  // the worker refilled it meanwhile
  this->wish(wish - 1);
}

void HoldBoard::release(std::size_t slot) { replaces(state_of(slot), kSlotHeld, kSlotFree); }

void HoldBoard::clear() {
  wish_nothing();
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    std::atomic_ref(state_of(slot)).store(kSlotFree);
    forget(slot);
  }
}

bool HoldBoard::is_held(std::size_t slot) const {
  return std::atomic_ref(state_of(slot)).load() == kSlotHeld;
}

std::optional<std::uint64_t> HoldBoard::step(std::size_t slot) const {
  const std::uint64_t step = std::atomic_ref(step_of(slot)).load();
  return step == 0 ? std::nullopt : std::optional(step - 1);
}

std::optional<std::uint64_t> HoldBoard::newest_step() const {
  std::optional<std::uint64_t> newest;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    if (const auto there = step(slot); there && (!newest || *there > *newest)) newest = there;
  }
  return newest;
}

std::optional<MappedBoard> MappedBoard::of(const base::Fd& memory, std::uint64_t bytes) {
  const auto shape = area_shape(bytes);
  if (!shape || !shape->has_board) return std::nullopt;
  void* start = ::mmap(nullptr, HoldBoard::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(),
                       static_cast<off_t>(shape->slots * shape->slot_bytes));
  if (start == MAP_FAILED) return std::nullopt;
  return MappedBoard(static_cast<char*>(start), shape->slots);
}

MappedBoard::MappedBoard(MappedBoard&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), board_(other.board_) {}

MappedBoard::~MappedBoard() {
  if (start_ != nullptr) ::munmap(start_, HoldBoard::kBytes);
}

}  // namespace robustrun::checkpoint
