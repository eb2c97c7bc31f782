#include <doctest/doctest.h>

#include "base/core/clock.h"
#include "bootstrap/hot/hot_profile.h"
#include "bootstrap/hot/touched_files.h"
#include "bootstrap/store/limits.h"

namespace hot_profile_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

HotProfile example() {
  return {1'700'000'000,
          {{"/env/lib/libtorch_cpu.so", 400'000'000, 12'345, 0, {{0, 8192}, {1'048'576, 4096}}},
           {"/env/lib/python3.11/os.py", 39'000, -5, 2, {}},
           {"/home/user/a file with spaces", 1, 0, 0, {}}}};
}

}  // namespace

TEST_CASE("a profile is read back as written") {
  CHECK(decode_profile(encode_profile(example())).value() == example());
  CHECK(decode_profile(encode_profile({7, {}})).value() == HotProfile{7, {}});
}

TEST_CASE("the format is that of docs/formats/hot-profile.md") {
  const std::string text = encode_profile(example());
  CHECK(
      text.starts_with("robustrun-hot 1\nmade 1700000000\n"
                       "file 400000000 12345 0 0+8192,1048576+4096, /env/lib/libtorch_cpu.so\n"
                       "file 39000 -5 2 - /env/lib/python3.11/os.py\n"
                       "file 1 0 0 - /home/user/a file with spaces\nend "));
}

TEST_CASE("a path that a line cannot hold is skipped") {
  HotProfile profile = example();
  profile.files[1].path = "/two\nlines";
  CHECK(decode_profile(encode_profile(profile)).value().files.size() == 2);
}

TEST_CASE("a cut profile, or one with any byte changed, is refused") {
  const std::string text = encode_profile(example());
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK_FALSE(decode_profile(text.substr(0, length)));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    CHECK_FALSE(decode_profile(other));
  }
}

TEST_CASE("ranges beyond the file, empty ones and overlaps are refused") {
  for (const std::vector<HotRange>& ranges :
       {std::vector<HotRange>{{0, 101}}, {{100, 1}}, {{0, 0}}, {{10, 10}, {15, 5}}, {{~0ULL, 2}}}) {
    HotProfile profile{0, {{"/f", 100, 0, 0, ranges}}};
    CHECK_FALSE(decode_profile(encode_profile(profile)));
  }
  HotProfile relative{0, {{"f", 100, 0, 0, {}}}};
  CHECK_FALSE(decode_profile(encode_profile(relative)));
}

TEST_CASE("pieces are all bytes of a profile, in its order, none above 1 MiB") {
  const HotProfile profile{
      0, {{"/b", 2'500'000, 0, 0, {}}, {"/a", 9'000'000, 0, 0, {{5, 1}, {8'000'000, 1'000'000}}}}};
  const auto pieces = pieces_of(profile);
  std::uint64_t bytes = 0;
  for (const HotPiece& piece : pieces) {
    CHECK(piece.range.length > 0);
    CHECK(piece.range.length <= kPieceBytes);
    bytes += piece.range.length;
  }
  CHECK(bytes == hot_bytes(profile));
  CHECK(bytes == 3'500'001);
  CHECK(pieces.front() == HotPiece{0, {0, kPieceBytes}});
  CHECK(pieces[3] == HotPiece{1, {5, 1}});
  CHECK(pieces.back() == HotPiece{1, {8'000'000, 1'000'000}});
}

TEST_CASE("files that later recordings lack stay for a while, after those they have") {
  HotProfile known{1, {{"/old", 1, 1, 0, {}}, {"/both", 1, 1, 0, {}}}};
  const HotProfile newest{2, {{"/new", 1, 1, 0, {}}, {"/both", 2, 9, 0, {}}}};
  for (std::uint32_t missed = 1; missed < kMissedMax; ++missed) {
    known = merge_profiles(newest, known);
    REQUIRE(known.files.size() == 3);
    CHECK(known.files[1] == newest.files[1]);
    CHECK(known.files[2].path == "/old");
    CHECK(known.files[2].missed == missed);
  }
  CHECK(merge_profiles(newest, known) == newest);
}

TEST_CASE("a merge has at most as many files as a profile may have") {
  HotProfile newest{2, {}};
  HotProfile before{1, {}};
  for (std::size_t i = 0; i < kHotFilesMax - 1; ++i) {
    newest.files.push_back({"/n" + std::to_string(i), 1, 0, 0, {}});
  }
  before.files = {{"/x", 1, 0, 0, {}}, {"/y", 1, 0, 0, {}}};
  CHECK(merge_profiles(newest, before).files.size() == kHotFilesMax);
}

TEST_CASE("the source of a compiled module is the one that its import checks") {
  CHECK(source_of("/env/torch/__pycache__/nn.cpython-311.pyc") == "/env/torch/nn.py");
  CHECK(source_of("/env/torch/__pycache__/nn.cpython-311.opt-1.pyc") == "/env/torch/nn.py");
  for (const char* other : {"/env/nn.py", "/env/nn.pyc", "/env/__pycache__/nn.txt", "",
                            "/env/__pycache__/more/nn.cpython-311.pyc"}) {
    CHECK(source_of(other).empty());
  }
}

TEST_CASE("a worker's list gives files in the order of the first touch") {
  const auto files = parse_touched("robustrun-files 1\nread /a b\nmapped /c\n").value();
  CHECK(files == std::vector<TouchedFile>{{"/a b", false}, {"/c", true}});
  CHECK(parse_touched("robustrun-files 1\n").value().empty());
}

TEST_CASE("a malformed list is refused") {
  for (const std::string text :
       {"", "robustrun-files 2\n", "robustrun-files 1\nread a\n", "robustrun-files 1\nwrite /a\n",
        "robustrun-files 1\nread /a", "robustrun-files 1\n\n", "robustrun-files 1\nread\n"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_touched(text));
  }
  CHECK_FALSE(parse_touched(std::string("robustrun-files 1\nread /a\0b\n", 28)));
  CHECK_FALSE(parse_touched("robustrun-files 1\nread /" + std::string(kPathBytesMax, 'x') + "\n"));
  std::string many = "robustrun-files 1\n";
  for (std::size_t i = 0; i <= kHotFilesMax; ++i) many += "read /f\n";
  CHECK(parse_touched(many).error().code == base::Errc::kLimit);
}

TEST_CASE("lists of several workers are joined: the first one's order, then the rest") {
  const auto joined = join_touched({{{"/a", false}, {"/b", false}}, {{"/c", false}, {"/a", true}}});
  CHECK(joined == std::vector<TouchedFile>{{"/a", true}, {"/b", false}, {"/c", false}});
}

}  // namespace hot_profile_test
