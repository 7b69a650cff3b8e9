import SQLiteQueue
import TestConfiguration
import Testing

@testable import Gateway

@Suite struct QueueSettingsTests {
    private let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
    ]

    @Test("The reader sets the dead letters' age and the duplicates' window")
    func queue() throws {
        let configuration = try read(
            minimal + "queue: {dead_letter_age: 3d}\ndevices: {duplicates: {window: 2h, max: 9}}",
            keys
        ).queueConfiguration
        #expect(configuration.deadLetterAgeMax == .seconds(3 * 86_400))
        #expect(configuration.repeatsAgeMax == .seconds(7200))
        #expect(configuration.repeatsMax == 9)
        for none in ["window: 0", "max: 0"] {
            let text = minimal + "devices: {duplicates: {\(none)}}"
            #expect(try read(text, keys).queueConfiguration.repeatsMax == 0)
        }
    }
}
