#include "launcher/ssh/host_key.h"

#include "base/core/text.h"
#include "base/io/sha256.h"
#include "launcher/ssh_encoding.h"

namespace robustrun::launcher {
namespace {

using Strict = SshSettings::StrictHostKeys;

std::string type_of(std::string_view blob) {
  return base::printable(SshReader(blob).text().value_or("unknown type"));
}

std::string describe_key(std::string_view blob) {
  return type_of(blob) + " " + fingerprint_text(base::sha256(blob));
}

std::string place(const KnownKey& key) { return key.file + ":" + std::to_string(key.line); }

HostKeyDecision unknown(const SshTarget& target, std::string_view blob) {
  const SshSettings& settings = target.settings;
  const std::string file = settings.user_known_hosts_files.empty()
                               ? "~/.ssh/known_hosts"
                               : settings.user_known_hosts_files.front();
  const std::string key = describe_key(blob);
  if (settings.strict_host_keys == Strict::kNo) {
    return {SshTrouble::kNone, "its host key is unknown and not checked: " + key, {}};
  }
  if (settings.strict_host_keys == Strict::kAcceptNew && settings.hash_known_hosts) {
    return {SshTrouble::kUnsuited, "its new host key is to be stored under a hashed name", {}};
  }
  if (settings.strict_host_keys == Strict::kAcceptNew) {
    return {SshTrouble::kNone, "its new host key is taken into " + file + ": " + key,
            target.known_name + " " + type_of(blob) + " " + encode_base64(blob) + "\n"};
  }
  return {SshTrouble::kHostKey,
          "its host key is unknown: " + key + " is not in " + file +
              "; compare the fingerprint with the host's own (ssh-keygen -lf "
              "/etc/ssh/ssh_host_ed25519_key.pub there), then run 'ssh-keyscan -p " +
              std::to_string(settings.port) + " " + base::printable(settings.hostname) + " >> " +
              file + "'",
          {}};
}

HostKeyDecision changed(const SshTarget& target, std::string_view blob, const KnownKey& known) {
  const std::string what = "its host key has changed: it shows " + describe_key(blob) + ", but " +
                           place(known) + " has " + describe_key(known.blob);
  if (target.settings.strict_host_keys == Strict::kNo) return {SshTrouble::kNone, what, {}};
  return {
      SshTrouble::kHostKey,
      what +
          "; the connection may be intercepted, or the host was installed anew: if you know that "
          "it was, run 'ssh-keygen -R " +
          target.known_name + " -f " + known.file + "'",
      {}};
}

}  // namespace

HostKeyDecision decide_host_key(const SshTarget& target, std::string_view blob) {
  const HostKeyJudgement judgement = judge_host_key(target.host_keys, blob);
  switch (judgement.verdict) {
    case HostKeyVerdict::kTrusted: return {};
    case HostKeyVerdict::kUnknown: return unknown(target, blob);
    case HostKeyVerdict::kChanged: return changed(target, blob, *judgement.because);
    case HostKeyVerdict::kRevoked:
      return {SshTrouble::kHostKey,
              "its host key " + describe_key(blob) + " is revoked in " + place(*judgement.because),
              {}};
    case HostKeyVerdict::kCertificate: break;
  }
  return {SshTrouble::kUnsuited, "its host key is to be checked by certificate", {}};
}

}  // namespace robustrun::launcher
