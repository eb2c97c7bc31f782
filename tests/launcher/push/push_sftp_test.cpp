// The SFTP client as a state machine over bytes, against a minimal server.

#include "launcher/push/sftp.h"

#include <doctest/doctest.h>

#include <map>

#include "launcher/limits.h"
#include "launcher/ssh_encoding.h"

namespace robustrun::test::push_sftp_test {
namespace {

using launcher::PushBundle;
using launcher::put_text;
using launcher::put_u32;
using launcher::SftpUpload;
using launcher::SshReader;

std::string packet(std::string_view body) {
  std::string out;
  put_text(out, body);
  return out;
}

std::string status(std::uint32_t id, std::uint32_t code, std::string_view message = "") {
  std::string body(1, '\x65');
  put_u32(body, id);
  put_u32(body, code);
  put_text(body, message);
  put_text(body, "");
  return packet(body);
}

// Keeps uploads in memory. `refuse`: the status code for requests that name this path.
struct Server {
  std::map<std::string, std::string> files;
  std::vector<std::string> folders;
  std::string refuse;
  std::string open_path;
  std::size_t writes_at_once = 0;

  std::string answer(std::string_view requests) {
    std::string out;
    SshReader reader(requests);
    std::size_t writes = 0;
    while (auto body = reader.text()) {
      SshReader request(*body);
      const auto type = request.u8();
      const auto id = request.u32().value_or(0);
      if (type == 1) {
        std::string version(1, '\x02');
        put_u32(version, 3);
        out += packet(version);
        continue;
      }
      const std::string path(request.text().value_or(""));
      if (path == refuse && !refuse.empty()) {
        out += status(id, 4, "Failure");
      } else if (type == 3) {
        open_path = path;
        files[path];
        std::string handle(1, '\x66');
        put_u32(handle, id);
        put_text(handle, "handle");
        out += packet(handle);
      } else if (type == 6) {
        request.u32();
        request.u32();
        files[open_path] += request.text().value_or("");
        ++writes;
        out += status(id, 0);
      } else {
        if (type == 14) folders.push_back(path);
        out += status(id, 0);
      }
    }
    writes_at_once = std::max(writes_at_once, writes);
    return out;
  }
};

std::shared_ptr<const PushBundle> make_bundle() {
  auto bundle = std::make_shared<PushBundle>();
  bundle->files = {{"bin/robustrun", std::string(3'000'000, 'x'), true},
                   {"share/robustrun/a.py", "text", false},
                   {"share/robustrun/empty", "", false}};
  bundle->manifest = "the list";
  return bundle;
}

base::Status talk(SftpUpload& upload, Server& server) {
  std::string to_server = upload.start();
  while (!to_server.empty()) {
    const std::string answer = server.answer(to_server);
    to_server.clear();
    for (const char c : answer) {  // in the smallest pieces
      const base::Status fed = upload.feed({&c, 1}, to_server);
      if (!fed) return fed;
    }
  }
  return {};
}

TEST_CASE("a bundle arrives complete, with its folders and its list") {
  SftpUpload upload("cache/robustrun/.new", make_bundle());
  Server server;
  REQUIRE(talk(upload, server).has_value());
  CHECK(upload.done());
  CHECK(server.folders ==
        std::vector<std::string>{"cache", "cache/robustrun", "cache/robustrun/.new",
                                 "cache/robustrun/.new/bin", "cache/robustrun/.new/share",
                                 "cache/robustrun/.new/share/robustrun"});
  CHECK(server.files.at("cache/robustrun/.new/bin/robustrun").size() == 3'000'000);
  CHECK(server.files.at("cache/robustrun/.new/share/robustrun/a.py") == "text");
  CHECK(server.files.at("cache/robustrun/.new/share/robustrun/empty").empty());
  CHECK(server.files.at("cache/robustrun/.new/MANIFEST") == "the list");
  CHECK(server.writes_at_once <= launcher::kSftpWritesMax);
  CHECK(server.writes_at_once > 1);
}

TEST_CASE("parent folders may exist already; the bundle's own may not") {
  for (const bool ours : {false, true}) {
    SftpUpload upload("cache/robustrun/.new", make_bundle());
    Server server;
    server.refuse = ours ? "cache/robustrun/.new" : "cache/robustrun";
    CHECK(talk(upload, server).has_value() == !ours);
    CHECK(upload.done() == !ours);
  }
}

TEST_CASE("a failed write mentions that a full disk looks like this") {
  SftpUpload upload("cache/.new", make_bundle());
  Server server;
  server.refuse = "handle";
  const base::Status status = talk(upload, server);
  REQUIRE(!status);
  CHECK(status.error().what.find("full disk") != std::string::npos);
  CHECK(status.error().what.find("cache/.new/bin/robustrun") != std::string::npos);
}

TEST_CASE("nonsense from the server is an error, never a hang or a crash") {
  const auto fails = [](const std::string& bytes) {
    SftpUpload upload("cache/.new", make_bundle());
    std::string out;
    Server server;
    REQUIRE(upload.feed(server.answer(upload.start()), out).has_value());
    return !upload.feed(bytes, out);
  };
  CHECK(fails(std::string("\xff\xff\xff\xff", 4)));       // a huge packet
  CHECK(fails(std::string(4, '\0')));                      // an empty one
  CHECK(fails(status(77, 0)));                             // to no question of ours
  CHECK(fails(packet("\x65")));                            // cut short
  CHECK(fails(packet("what is this?")));
  SftpUpload old("cache/.new", make_bundle());
  std::string out;
  std::string version(1, '\x02');
  put_u32(version, 2);
  CHECK(!old.feed(packet(version), out));
}

}  // namespace
}  // namespace robustrun::test::push_sftp_test
