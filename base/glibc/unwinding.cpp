// _dl_find_object(3), in glibc since 2.35: libgcc asks it, at each throw, for the table of the code
// at an address. As in older versions of libgcc, all loaded objects are looked through.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

int look(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  std::uintptr_t table = 0;
  bool is_here = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    const std::uintptr_t first = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) table = first;
    if (part.p_type != PT_LOAD) continue;
    begin = std::min(begin, first);
    end = std::max(end, first + part.p_memsz);
    is_here |= search.address >= first && search.address - first < part.p_memsz;
  }
  if (!is_here) return 0;
  if (table == 0) return -1;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(table);
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return ::dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
