/// How many nonces are remembered, and how senders share them.
///
/// A key that is not the only one may have no more than are still free. So one that is busy, or whose holder means ill,
/// leaves half of the room to all others, two of them a third, and so on: a key that has none finds a place.
struct NonceRoom: Sendable {
    let max: Int
    let isShared: Bool

    func hasPlace(own: Int, all: Int) -> Bool {
        all < max && (!isShared || own < max - all)
    }
}

extension NonceRoom {
    init(_ settings: DeviceSettings.HMAC, isShared: Bool) {
        self.init(max: settings.noncesMax, isShared: isShared)
    }
}
