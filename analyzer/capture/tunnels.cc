// Names of encapsulations.
#include <algorithm>

#include <rpcrdma/capture/tunnels.h>

namespace rpcrdma::capture {

const char* tunnel_name(TunnelKind kind) {
  switch (kind) {
    case TunnelKind::kVxlan:
      return "VXLAN";
    case TunnelKind::kVxlanGpe:
      return "VXLAN-GPE";
    case TunnelKind::kGeneve:
      return "GENEVE";
    case TunnelKind::kGre:
      return "GRE";
    case TunnelKind::kGreInUdp:
      return "GRE in UDP";
    case TunnelKind::kErspan1:
      return "ERSPAN I";
    case TunnelKind::kErspan2:
      return "ERSPAN II";
    case TunnelKind::kErspan3:
      return "ERSPAN III";
    case TunnelKind::kMpls:
      return "MPLS";
    case TunnelKind::kMplsInUdp:
      return "MPLS in UDP";
    case TunnelKind::kPseudowire:
      return "pseudowire";
    case TunnelKind::kPppoe:
      return "PPPoE";
    case TunnelKind::kIpInIp:
      return "IP in IP";
    case TunnelKind::kSixInFour:
      return "6in4";
    case TunnelKind::kFourInSix:
      return "4in6";
    case TunnelKind::kSixInSix:
      return "IPv6 in IPv6";
    case TunnelKind::kEtherIp:
      return "EtherIP";
    case TunnelKind::kSrv6:
      return "SRv6";
    case TunnelKind::kGtpU:
      return "GTP-U";
    case TunnelKind::kGue:
      return "GUE";
    case TunnelKind::kLisp:
      return "LISP";
    case TunnelKind::kTzsp:
      return "TZSP";
    case TunnelKind::kNsh:
      return "NSH";
    case TunnelKind::kVnTag:
      return "VN-Tag";
    case TunnelKind::kETag:
      return "E-Tag (IEEE 802.1BR)";
    case TunnelKind::kCiscoMetadata:
      return "Cisco metadata";
    case TunnelKind::kMacsec:
      return "MACsec";
    case TunnelKind::kProviderBackbone:
      return "PBB (IEEE 802.1ah)";
    case TunnelKind::kTrill:
      return "TRILL";
    case TunnelKind::kFabricPath:
      return "FabricPath";
  }
  return "a tunnel";
}

bool operator==(const Tunnels& a, const Tunnels& b) {
  if (a.count != b.count) return false;
  if (a.count == 0) return true;
  return a.keyed == b.keyed && a.erspan_session == b.erspan_session && a.src == b.src &&
         a.dst == b.dst && std::equal(a.kind.begin(), a.kind.begin() + a.count, b.kind.begin()) &&
         std::equal(a.key.begin(), a.key.begin() + a.count, b.key.begin());
}

const char* tunnel_key_name(TunnelKind kind) {
  switch (kind) {
    case TunnelKind::kVxlan:
    case TunnelKind::kVxlanGpe:
    case TunnelKind::kGeneve:
      return "VNI";
    case TunnelKind::kGre:
    case TunnelKind::kGreInUdp:
      return "key";
    case TunnelKind::kMpls:
    case TunnelKind::kMplsInUdp:
      return "label";
    case TunnelKind::kPppoe:
      return "session";
    case TunnelKind::kGtpU:
      return "TEID";
    case TunnelKind::kLisp:
      return "instance";
    case TunnelKind::kNsh:
      return "path";
    case TunnelKind::kCiscoMetadata:
      return "SGT";
    case TunnelKind::kProviderBackbone:
      return "I-SID";
    default:
      return nullptr;
  }
}

}  // namespace rpcrdma::capture
