#include "base/core/build_id.h"

#include <elf.h>
#include <link.h>

#include <bit>
#include <cstddef>
#include <string_view>

#include "base/core/text.h"

namespace robustrun::base {
namespace {

constexpr std::size_t kNoteAlignment = 4;

std::size_t aligned(std::size_t size) {
  return (size + kNoteAlignment - 1) / kNoteAlignment * kNoteAlignment;
}

// The first object that is named is the executable itself.
int read_notes(dl_phdr_info* object, std::size_t, void* out) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    std::string_view notes(std::bit_cast<const char*>(object->dlpi_addr + segment.p_vaddr),
                           segment.p_memsz);
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes.data());
      const std::size_t name_at = sizeof *note;
      const std::size_t value_at = name_at + aligned(note->n_namesz);
      const std::size_t end = value_at + aligned(note->n_descsz);
      if (end > notes.size()) break;
      const std::string_view name = notes.substr(name_at, note->n_namesz);
      if (note->n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU\0", 4)) {
        *static_cast<std::string*>(out) = to_hex(notes.substr(value_at, note->n_descsz));
        return 1;
      }
      notes.remove_prefix(end);
    }
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(read_notes, &id);
  return id;
}

}  // namespace robustrun::base
