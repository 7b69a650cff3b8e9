extension DeviceSettings {
    static func read(
        _ section: consuming Section,
        destinations: Set<String>,
        clientsHaveNames: Bool
    ) -> DeviceSettings {
        var settings = DeviceSettings()
        settings.keys = DeviceKey.readAll(
            &section,
            destinations: destinations,
            clientsHaveNames: clientsHaveNames
        )
        settings.readHMAC(section.section("hmac"))
        settings.tokens = DeviceTokens.read(section.section("jwt"), destinations: destinations)
        var duplicates = section.section("duplicates")
        let window = Kind<Duration>.duration(.zero ... .seconds(86_400 * 30))
        if let window = duplicates.value("window", window) { settings.duplicates.window = window }
        if let count = duplicates.value("max", .count(0...2_000_000)) {
            settings.duplicates.max = count
        }
        duplicates.refuseOthers()
        section.refuseOthers(
            later: ["cors": "not in this version: web pages of every origin may send"]
        )
        return settings
    }

    private mutating func readHMAC(_ section: consuming Section) {
        if let window = section.value("window", .duration(.seconds(1) ... .seconds(3600))) {
            hmac.window = window
        }
        if let count = section.value("nonces", .count(1...10_000_000)) { hmac.noncesMax = count }
        section.refuseOthers()
    }
}
