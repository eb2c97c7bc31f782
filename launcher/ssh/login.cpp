#include "launcher/ssh/login.h"

#include <fmt/format.h>
#include <libssh2.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/core/text.h"
#include "launcher/limits.h"
#include "launcher/ssh_encoding.h"

namespace robustrun::launcher {
namespace {

int sign_callback(LIBSSH2_SESSION*, unsigned char** signature, std::size_t* size,
                  const unsigned char* data, std::size_t data_size, void** abstract) {
  return static_cast<SshLogin*>(*abstract)->sign(signature, size,
                                                 {reinterpret_cast<const char*>(data), data_size});
}

std::string type_of(const std::string& blob) {
  return std::string(SshReader(blob).text().value_or(""));
}

}  // namespace

SshLogin::SshLogin(boost::asio::any_io_executor executor, std::shared_ptr<const SshTarget> target,
                   std::function<void()> wake)
    : executor_(std::move(executor)), target_(std::move(target)), wake_(std::move(wake)) {}

SshLogin::~SshLogin() {
  if (agent_ != nullptr) agent_->close();
}

SshLogin::Outcome SshLogin::step(LIBSSH2_SESSION* session) {
  if (!asked_) return ask_agent();
  if (!chosen_) return Outcome::kWaitForAgent;
  if (at_ == candidates_.size() || broken_) return Outcome::kFailed;
  return attempt(session);
}

SshLogin::Outcome SshLogin::ask_agent() {
  asked_ = true;
  if (target_->agent_socket.empty()) {
    choose({});
    return Outcome::kAgain;
  }
  agent_ = SshAgentClient::make(executor_, target_->agent_socket);
  agent_->list([this](base::Result<std::vector<SshAgentKey>> keys) {
    if (!keys) agent_trouble_ = keys.error().what;
    choose(keys.value_or(std::vector<SshAgentKey>{}));
    wake_();
  });
  return Outcome::kWaitForAgent;
}

void SshLogin::add(Candidate candidate) {
  if (candidates_.size() >= kLoginKeysMax) {
    ++beyond_;
    return;
  }
  candidates_.push_back(std::move(candidate));
}

// The agent's keys that belong to a configured file come first, as in OpenSSH.
void SshLogin::choose(const std::vector<SshAgentKey>& agent_keys) {
  chosen_ = true;
  const auto has_file = [&](const SshAgentKey& key) {
    return std::ranges::any_of(
        target_->keys, [&](const SshKeyFile& file) { return file.public_blob == key.blob; });
  };
  for (const bool configured : {true, false}) {
    for (const SshAgentKey& key : agent_keys) {
      if (has_file(key) != configured) continue;
      if (!configured && target_->settings.identities_only) continue;
      const std::string label = "the ssh-agent's '" + base::printable(key.comment) + "'";
      if (kind_of_type(type_of(key.blob)) == SshKeyKind::kUsable) {
        add({label, key.blob, {}});
      } else {
        left_out_.push_back(label + " (" + base::printable(type_of(key.blob)) + ")");
      }
    }
  }
  for (const std::string& certificate : target_->certificates) {
    left_out_.push_back(certificate);
  }
  for (const SshKeyFile& file : target_->keys) {
    const bool in_agent = std::ranges::any_of(
        agent_keys, [&](const SshAgentKey& key) { return key.blob == file.public_blob; });
    if (in_agent) continue;
    if (file.kind == SshKeyKind::kUsable) {
      add({file.path, {}, file.text});
    } else {
      const bool openssh_may = file.kind == SshKeyKind::kRsa || file.kind == SshKeyKind::kHardware;
      (openssh_may ? left_out_ : unusable_).push_back(describe(file));
    }
  }
}

SshLogin::Outcome SshLogin::attempt(LIBSSH2_SESSION* session) {
  const Candidate& candidate = candidates_[at_];
  const std::string& user = target_->settings.user;
  void* self = this;
  int rc = 0;
  if (candidate.text.empty()) {
    rc = libssh2_userauth_publickey(session, user.c_str(),
                                    reinterpret_cast<const unsigned char*>(candidate.blob.data()),
                                    candidate.blob.size(), sign_callback, &self);
  } else {
    // An empty passphrase rather than null, for which OpenSSL would ask at the terminal.
    rc = libssh2_userauth_publickey_frommemory(session, user.c_str(), user.size(), nullptr, 0,
                                               candidate.text.data(), candidate.text.size(), "");
  }
  if (rc == 0) return Outcome::kDone;
  if (rc == LIBSSH2_ERROR_EAGAIN) {
    return signing_ ? Outcome::kWaitForAgent : Outcome::kWaitForSocket;
  }
  tried_.push_back(candidate.label);
  broken_ = rc != LIBSSH2_ERROR_AUTHENTICATION_FAILED && rc != LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED &&
            rc != LIBSSH2_ERROR_FILE && rc != LIBSSH2_ERROR_PROTO;
  signature_.reset();
  ++at_;
  return Outcome::kAgain;
}

int SshLogin::sign(unsigned char** signature, std::size_t* size, std::string_view data) {
  if (signature_ == nullptr) {
    if (!std::exchange(signing_, true)) {
      agent_->sign(candidates_[at_].blob, data, [this](base::Result<std::string> made) {
        signing_ = false;
        signature_ = std::make_unique<base::Result<std::string>>(std::move(made));
        wake_();
      });
    }
    return LIBSSH2_ERROR_EAGAIN;
  }
  const auto made = std::exchange(signature_, nullptr);
  if (!*made) {
    agent_trouble_ = made->error().what;
    return -1;
  }
  // libssh2 frees it with its session's allocator, which is malloc's.
  auto* const copy = static_cast<unsigned char*>(std::malloc((*made)->size() + 1));
  if (copy == nullptr) return -1;
  std::copy((*made)->begin(), (*made)->end(), copy);
  *signature = copy;
  *size = (*made)->size();
  return 0;
}

SshTrouble SshLogin::trouble() const {
  return left_out_.empty() ? SshTrouble::kLogin : SshTrouble::kUnsuited;
}

std::string SshLogin::explain() const {
  const std::string user = "as " + base::printable(target_->settings.user);
  std::string text;
  if (tried_.empty()) {
    text = "there is no key to log in with " + user;
  } else if (broken_) {
    text = "the server hung up at the login " + user + " with " + base::join(tried_, ", ");
  } else {
    text = "the server accepts no key of ours for a login " + user + " (tried " +
           base::join(tried_, ", ") + ")";
  }
  if (beyond_ > 0) {
    text += fmt::format(
        "; {} not tried, because servers allow few tries: name the right key as IdentityFile with "
        "IdentitiesOnly",
        beyond_ == 1 ? "a further key was" : fmt::format("{} further keys were", beyond_));
  }
  if (!left_out_.empty()) text += "; libssh2 cannot use " + base::join(left_out_, ", ");
  if (!unusable_.empty()) text += "; not usable: " + base::join(unusable_, ", ");
  if (!agent_trouble_.empty()) text += "; " + agent_trouble_;
  return text;
}

}  // namespace robustrun::launcher
