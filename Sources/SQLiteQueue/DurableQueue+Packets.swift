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
        to receiver: @escaping @Sendable ([Outlet: Set<PacketID>]) -> Void
    ) {
        door.post(.recall(receiver))
    }

    package func giveBack(_ packet: SealedPacket) {
        door.post(.recalled(door.number(of: packet)))
    }

    package func request(_ count: Int, for outlet: Outlet) {
        door.post(.request(count, outlet))
    }

    package func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        let number = door.number(of: packet)
        if door.recalls.contains(number) || door.goesElsewhere(packet.stream) {
            door.post(.recalled(number))
            throw QueueError(.withdrawn, "\(packet.id) is taken back by the queue.")
        }
        if let recent = packet.recent { return recent }
        do throws(QueueError) {
            return try door.reader.withLock { reader throws(QueueError) in
                try reader.blocks(of: packet)
            }
        } catch {
            if error.kind == .corrupt { door.post(.unreadable(number)) }
            throw error
        }
    }

    package func acknowledge(_ packet: SealedPacket) {
        door.post(.acknowledge(door.number(of: packet)))
    }

    package func isolate(_ packet: SealedPacket, because reason: DeathReason) {
        door.post(.isolate(door.number(of: packet), reason))
    }

    package func discard(_ packet: SealedPacket, because reason: DeathReason) {
        door.post(.discard(door.number(of: packet), reason))
    }

    package func relane(_ packet: SealedPacket) {
        door.post(.relane(door.number(of: packet)))
    }

    package func setAside(_ packet: SealedPacket) {
        door.post(.setAside(door.number(of: packet)))
    }

    package func postpone(_ packet: SealedPacket) {
        door.post(.postpone(door.number(of: packet)))
    }

    package func flush(_ destination: String) {
        door.post(.flush(destination))
    }
}
