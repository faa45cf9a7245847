// Decodes InfiniBand transport headers. The extension headers follow the BTH in the order of this
// file (IBA volume 1 section 5.2.1).
#include "field_writer.h"

#include <cinttypes>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::decode {
namespace {

void bth_fields(const FieldWriter& out, const wire::Bth& bth, const char* opcode_name) {
  out.number(FieldId::kIbOpcode, 0, 1, bth.opcode, opcode_name);
  out.number(FieldId::kIbSolicited, 1, 1, bth.solicited ? 1 : 0);
  out.number(FieldId::kIbMigReq, 1, 1, bth.migreq ? 1 : 0);
  out.number(FieldId::kIbPadCount, 1, 1, bth.pad_count);
  out.number(FieldId::kIbTver, 1, 1, bth.tver);
  out.number(FieldId::kIbPkey, 2, 2, bth.pkey);
  out.number(FieldId::kIbFecn, 4, 1, bth.fecn ? 1 : 0);
  out.number(FieldId::kIbBecn, 4, 1, bth.becn ? 1 : 0);
  out.number(FieldId::kIbDestQp, 5, 3, bth.dest_qp);
  out.number(FieldId::kIbAckReq, 8, 1, bth.ack_req ? 1 : 0);
  out.number(FieldId::kIbPsn, 9, 3, bth.psn);
}

void aeth_fields(const FieldWriter& out, const wire::Aeth& aeth) {
  out.number(FieldId::kIbSyndrome, 0, 1, aeth.syndrome);
  if (aeth.is_ack()) out.number(FieldId::kIbAckCredits, 0, 1, aeth.value());
  if (aeth.is_rnr()) out.number(FieldId::kIbRnrTimer, 0, 1, wire::rnr_timer_ns(aeth.value()));
  if (aeth.is_nak()) out.number(FieldId::kIbNakCode, 0, 1, aeth.value());
  out.number(FieldId::kIbMsn, 1, 3, aeth.msn);
}

}  // namespace

void decode_transport(const wire::RocePacket& packet, Sink& sink) {
  const wire::OpcodeInfo& info = wire::opcode_info(packet.bth.opcode);
  const std::size_t extensions = (info.deth ? 8U : 0U) + (info.reth ? 16U : 0U) +
                                 (info.atomic ? 28U : 0U) + (info.aeth ? 4U : 0U) +
                                 (info.atomic_ack ? 8U : 0U) + (info.imm ? 4U : 0U) +
                                 (info.ieth ? 4U : 0U);
  FieldWriter out(sink);
  Summary summary;
  summary.add("%s, QP 0x%06" PRIx32 ", PSN %" PRIu32, info.name, packet.bth.dest_qp,
              packet.bth.psn);
  const FieldWriter whole = out;
  whole.open(FieldId::kIb, 0, wire::kBthBytes + extensions, summary.view());
  bth_fields(out, packet.bth, info.name);
  out = out.at(wire::kBthBytes);
  if (info.deth) {
    out.word(FieldId::kIbQkey, 0, packet.deth.qkey);
    out.number(FieldId::kIbSrcQp, 5, 3, packet.deth.src_qp);
    out = out.at(8);
  }
  if (info.reth) {
    out.number(FieldId::kIbVa, 0, 8, packet.reth.va);
    out.word(FieldId::kIbRkey, 8, packet.reth.rkey);
    out.word(FieldId::kIbDmaLength, 12, packet.reth.dma_length);
    out = out.at(16);
  }
  if (info.atomic) {
    out.number(FieldId::kIbAtomicVa, 0, 8, packet.atomic.va);
    out.word(FieldId::kIbAtomicRkey, 8, packet.atomic.rkey);
    out.number(FieldId::kIbAtomicSwapOrAdd, 12, 8, packet.atomic.swap_or_add);
    out.number(FieldId::kIbAtomicCompare, 20, 8, packet.atomic.compare);
    out = out.at(28);
  }
  if (info.aeth) {
    aeth_fields(out, packet.aeth);
    out = out.at(4);
  }
  if (info.atomic_ack) {
    out.number(FieldId::kIbAtomicOriginal, 0, 8, packet.atomic_ack);
    out = out.at(8);
  }
  if (info.imm) {
    out.word(FieldId::kIbImmediate, 0, packet.immediate);
    out = out.at(4);
  }
  if (info.ieth) {
    out.word(FieldId::kIbInvalidateKey, 0, packet.invalidate_key);
    out = out.at(4);
  }
  whole.close();

  if (!packet.payload.empty()) out.bytes(FieldId::kIbPayload, 0, packet.payload);
  // Zero means that the ICRC was not captured.
  if (packet.icrc != 0) {
    out.word(FieldId::kIbIcrc, packet.payload.size() + packet.bth.pad_count, packet.icrc);
  }
}

}  // namespace rpcrdma::decode
