// How a fleet's bus is reached, and what of it the settings keep: names of files and users, never a
// secret.
#pragma once

#include <QSettings>
#include <QString>

namespace rpcrdma::gui {

struct FleetAddress {
  QString url;            // nats://host:4222, tls://host:4222
  QString user;           // with password_file
  QString password_file;  // holds the password alone
  QString nkey_file;      // holds the seed of an nkey
  QString ca;             // PEM file

  // Without the user and password that a URL may contain; for titles, too.
  [[nodiscard]] QString url_without_secrets() const;
};

void save_fleet_address(QSettings& settings, const FleetAddress& address);
[[nodiscard]] FleetAddress saved_fleet_address(const QSettings& settings);

}  // namespace rpcrdma::gui
