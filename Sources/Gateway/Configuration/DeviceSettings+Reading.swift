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
}
