#include "fleet_address.h"

#include <QStringList>
#include <utility>

namespace rpcrdma::gui {

namespace {

// The settings' names, and the members that they keep.
constexpr std::pair<const char*, QString FleetAddress::*> kKept[] = {
    {"fleet/user", &FleetAddress::user},
    {"fleet/password-file", &FleetAddress::password_file},
    {"fleet/nkey-file", &FleetAddress::nkey_file},
    {"fleet/ca", &FleetAddress::ca},
};

}  // namespace

// A URL may name several servers, separated by commas.
QString FleetAddress::url_without_secrets() const {
  QStringList clean;
  for (const QString& one : url.split(',')) {
    const qsizetype scheme = one.indexOf("://");
    const qsizetype from = scheme < 0 ? 0 : scheme + 3;
    const qsizetype at = one.lastIndexOf('@');
    clean << (at < from ? one.trimmed() : (one.left(from) + one.mid(at + 1)).trimmed());
  }
  return clean.join(',');
}

void save_fleet_address(QSettings& settings, const FleetAddress& address) {
  settings.setValue("fleet/url", address.url_without_secrets());
  for (const auto& [name, member] : kKept) settings.setValue(name, address.*member);
}

FleetAddress saved_fleet_address(const QSettings& settings) {
  FleetAddress address;
  address.url = settings.value("fleet/url").toString();
  for (const auto& [name, member] : kKept) address.*member = settings.value(name).toString();
  return address;
}

}  // namespace rpcrdma::gui
