package import Queue
import System

extension DurableQueue: PacketSource {
    package func deliver(to receiver: @escaping @Sendable ([SealedPacket]) -> Void) {
        door.post(.deliver(receiver))
    }

    package func announceOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        door.post(.announce(receiver))
    }

    package func retireOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        door.post(.retire(receiver))
    }

    package func recallPackets(
        to receiver: @escaping @Sendable ([Outlet: Set<Int64>]) -> Void
    ) {
        door.post(.recall(receiver))
    }

    package func giveBack(_ packet: SealedPacket) {
        door.post(.recalled(packet.number))
    }

    package func request(_ count: Int, for outlet: Outlet) {
        door.post(.request(count, outlet))
    }

    package func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        if door.recalls.contains(packet.number) || door.goesElsewhere(packet.stream) {
            door.post(.recalled(packet.number))
            throw QueueError(.withdrawn, "packet \(packet.number) is taken back by the queue.")
        }
        if let recent = packet.recent { return recent }
        do throws(QueueError) {
            return try door.reader.withLock { reader throws(QueueError) in
                try reader.blocks(of: packet)
            }
        } catch {
            if error.kind == .corrupt { door.post(.unreadable(packet.number)) }
            throw error
        }
    }

    package func acknowledge(_ packet: SealedPacket) {
        door.post(.acknowledge(packet.number))
    }

    package func isolate(_ packet: SealedPacket, because reason: DeathReason) {
        door.post(.isolate(packet.number, reason))
    }

    package func discard(_ packet: SealedPacket, because reason: DeathReason) {
        door.post(.discard(packet.number, reason))
    }

    package func relane(_ packet: SealedPacket) {
        door.post(.relane(packet.number))
    }

    package func setAside(_ packet: SealedPacket) {
        door.post(.setAside(packet.number))
    }

    package func postpone(_ packet: SealedPacket) {
        door.post(.postpone(packet.number))
    }

    package func flush(_ destination: String) {
        door.post(.flush(destination))
    }
}
