import System

extension FairShare {
    /// How many nonces are remembered, and how the keys that sign share them.
    init(_ settings: DeviceSettings.HMAC, keys: Int) {
        self.init(max: settings.noncesMax, holders: keys)
    }
}
